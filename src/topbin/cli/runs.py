"""Small verbs: `inspect`, `report` and `export` for a finished run, `completion` for the shell."""

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from topbin.cli import verb
from topbin.cli.verb import again_options, named_again
from topbin.core.formatting import counted

COMPLETE = "_TOPBIN_COMPLETE"  # the variable in which the shell asks


@click.command(cls=verb.Verb)
@verb.path_argument("folder")
@verb.json_option
def inspect(folder: Path, as_json: bool) -> None:
    """Show what a run folder or a model folder holds.

    \b
      topbin inspect run1
      topbin inspect run1/model --json
    """  # fmt: skip
    from topbin.show.screen import run_lines
    from topbin.store.models import inspect_model
    from topbin.store.runs import RESULT, SCHEMA, SETTINGS, read_result

    if any(os.path.exists(folder / name) for name in (RESULT, SETTINGS)):
        answer = read_result(folder)
        content, lines = {"schema": SCHEMA, **answer.to_dict()}, run_lines(answer)
    else:
        about = inspect_model(folder)
        content, lines = about.to_dict(), about.lines()
    if as_json:
        return verb.write_json(content)
    verb.screen().print_lines(lines)


@click.command(cls=verb.Verb)
@verb.path_argument("run")
@verb.option(
    "--candidates",
    "Rows",
    "List so many rows in candidates.csv; nothing is fitted again.",
    type=click.IntRange(1),
)
@again_options
@verb.json_option
def report(run: Path, candidates: int | None, as_json: bool, **named: Any) -> None:
    """Write report.html again, with an audit that came after the run, or with more candidates.

    \b
      topbin report run1
      topbin report run1 --candidates 300
    """  # fmt: skip
    from topbin.job.files import list_rows, write_report

    show = verb.screen(as_json)
    if candidates is not None:
        listed = list_rows(run, candidates, sources=named_again(named))
        show.say("wrote", f"{run}/candidates.csv: {counted(listed.rows)}")
    path = write_report(run)
    show.say("wrote", path)
    if as_json:
        verb.write_json({"report": str(path)})


@click.command(cls=verb.Verb)
@verb.path_argument("run")
@verb.option(
    "--mlflow folder",
    "Output",
    "Folder that MLflow loads and serves; MLflow is not needed to write it.",
    type=click.Path(path_type=Path),
    required=True,
)
@verb.flag("--force", "Output", "Replace the output.")
@verb.json_option
def export(run: Path, folder: Path, force: bool, as_json: bool) -> None:
    """Write the model of a run so that MLflow can serve it; nothing in it is code.

    To serve it: mlflow models serve -m served --env-manager local --port 5001

    \b
      topbin export run1 --mlflow served
      topbin export run1 --mlflow served --force            # after an audit
    """  # fmt: skip
    from topbin.store import mlflow_folder

    mlflow_folder.write_mlflow(run, folder, force=force)
    show, module = verb.screen(as_json), mlflow_folder.__name__
    show.say("wrote", f"{folder}: a model for MLflow, without code and without pickle")
    show.say("MLflow runs", f"{module}, a module of the topbin that is installed there, and")
    show.say("", "without --env-manager local also pip, on requirements.txt")
    if as_json:
        verb.write_json({"mlflow": str(folder), "loader_module": module})


@click.command(cls=verb.Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for your shell; read it in where the shell starts.

    \b
      topbin completion bash >> ~/.bashrc
      topbin completion zsh >> ~/.zshrc
      topbin completion fish > ~/.config/fish/completions/topbin.fish
    """  # fmt: skip
    from topbin.cli import main

    script = get_completion_class(shell)
    assert script is not None  # click has these three
    click.echo(script.source_template % script(main, {}, "topbin", COMPLETE).source_vars())
