"""`topbin completion`: a script that lets the shell complete verbs, options and file names."""

import click
from click.shell_completion import get_completion_class

from topbin.cli import main
from topbin.cli.verb import Verb

COMPLETE = "_TOPBIN_COMPLETE"  # the variable in which the shell asks


@click.command(cls=Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for your shell; read it in where the shell starts.

    \b
      topbin completion bash >> ~/.bashrc
      topbin completion zsh >> ~/.zshrc
      topbin completion fish > ~/.config/fish/completions/topbin.fish
    """  # fmt: skip
    script = get_completion_class(shell)
    assert script is not None  # click has these three
    click.echo(script.source_template % script(main, {}, "topbin", COMPLETE).source_vars())
