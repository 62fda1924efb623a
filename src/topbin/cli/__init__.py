"""The `topbin` command: verbs, whose files are loaded only when one of them is called."""

from importlib import import_module

import click
from click.shell_completion import CompletionItem

import topbin

VERBS = {
    "demo": "The main job on real data, with the truth shown beside.",
    "fit": "How many of the unlabeled rows of a table are positive, and which ones?",
    "alpha": "How many are positive, from scores you already have, of any size.",
    "score": "Probabilities for new rows, with the model of a run.",
    "watch": "Has the share moved? α of new rows by week, with alarms.",
    "audit": "Check an estimate by labeling a random sample.",
    "review": "Label rows in the browser, by keyboard.",
    "export": "The model of a run as a folder that MLflow serves.",
    "report": "Write the page of a run again.",
    "doctor": "What is wrong with a table, before any fit?",
    "inspect": "What a run or a model folder holds.",
    "completion": "A script that lets your shell complete the command.",
}
# Verbs that share a module.
ELSEWHERE = {"doctor": "fit", "watch": "score", "review": "audit"}
ELSEWHERE |= dict.fromkeys(("inspect", "report", "export", "completion"), "runs")
EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong use, 3 a threshold that you set was exceeded, an "
    "audit contradicts the estimate, or a watch raises an alarm."
)


class Verbs(click.Group):
    """A group that knows its verbs by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return the command of the same name."""
        if cmd_name not in VERBS:
            return None
        module = ELSEWHERE.get(cmd_name, cmd_name)
        command = getattr(import_module(f"topbin.cli.{module}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin so, without importing them, and the options of the group."""
        fit = (name for name in VERBS if name.startswith(incomplete))
        verbs = [CompletionItem(name, help=VERBS[name]) for name in fit]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(topbin.__version__, prog_name="topbin")
def main() -> None:
    """How many of your unlabeled rows are positive, and which ones?

    \b
      topbin demo                                          # what it does, in a minute
      topbin fit claims.csv --label is_fraud -o run1       # how many, and which rows
      topbin audit run1 --n 100                            # random rows to label
      topbin audit run1 --labels run1/audit.csv            # how many, with your answers
    """  # fmt: skip
