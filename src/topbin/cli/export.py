"""`topbin export`: the model of a run in a form that other software serves."""

from pathlib import Path

import click

from topbin.cli.verb import Verb, json_option, option, screen, write_json


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@option(
    "--mlflow",
    "folder",
    group="Output",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder that MLflow loads and serves; MLflow is not needed to write it.",
)
@option("--force", group="Output", is_flag=True, help="Replace the output.")
@json_option
def export(run: Path, folder: Path, force: bool, as_json: bool) -> None:
    """Write the model of a run so that MLflow can serve it; nothing in it is code.

    \b
      topbin export run1 --mlflow served
      mlflow models serve -m served --env-manager local --port 5001
    """  # fmt: skip
    from topbin.store import mlflow_folder

    mlflow_folder.write_mlflow(run, folder, force=force)
    show, module = screen(as_json), mlflow_folder.__name__
    show.print(f"wrote           {folder}: a model for MLflow, without code and without pickle")
    show.print(f"MLflow runs     {module}, a module of the topbin that is installed there, and")
    show.print("                without --env-manager local also pip, on requirements.txt")
    if as_json:
        write_json({"mlflow": str(folder), "loader_module": module})
