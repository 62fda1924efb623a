"""`topbin fit`: from a table to how many, which rows, and a page to show others.

`topbin doctor` reads the table in the same way, and stops before any fit.
"""

import os
import shlex
import tomllib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topbin.cli import verb
from topbin.cli.verb import engine_from, engine_options, given, request_options
from topbin.core.atomic import read_file
from topbin.core.errors import InputError, option
from topbin.core.formatting import counted, figure, line
from topbin.core.optional import keep_freed_memory
from topbin.core.options import Request, Rows, options, read_request
from topbin.engines.engine import Engine, check_engine

if TYPE_CHECKING:
    from topbin.job.checkpoints import SavedSteps
    from topbin.job.prepare import Prepared
    from topbin.job.result import Result
    from topbin.store.answer import Answer
    from topbin.store.runs import RunFolder

DATA_OPTIONS = [each for each in options() if each.place in ("rows", "read")]
RULE = "name a table and its --label, or --positives and --unlabeled"
SHOWN = 3  # names of files in a message
CONFIG_BYTES = 1 << 20  # of a file of settings, at most
further = partial(verb.option, group="Output", usual=False)


@click.command(cls=verb.Verb)
@verb.sources_argument()
@request_options()
@engine_options(usual=False)
@verb.max_alpha_option("Exit 3 if the interval lies above this.")
@verb.output_option("The run folder.", default=Path("run"))
@further(
    "--config",
    about="Options from a file, such as run.toml of a run; options given here take precedence.",
    type=click.Path(dir_okay=False, path_type=Path),
)
@further("--force", about="Start over in an existing run folder.", is_flag=True)
@further("--resume", about="Continue a run that was stopped.", is_flag=True)
@further(
    "--dry-run", about="Only say how the data is read, and how long the fit takes.", is_flag=True
)
@further("--quiet", about="Print only errors.", is_flag=True)
@verb.json_option
def fit(
    source: tuple[str, ...],
    output: Path,
    config: Path | None,
    force: bool,
    resume: bool,
    quiet: bool,
    as_json: bool,
    max_alpha: float | None,
    dry_run: bool,
    **values: Any,
) -> None:
    """How many of the unlabeled rows are positive, and which ones?

    \b
      topbin fit claims.parquet --label is_fraud --id claim_id -o run1
      topbin fit --positives known.csv --unlabeled rest.csv -o run2
      topbin fit --positives photos/cats --unlabeled photos/rest -o run3
      topbin fit old.csv --classes topic --unlabeled new.csv -o run4
      topbin fit claims.csv --label is_fraud --dry-run
    """  # fmt: skip
    keep_freed_memory()
    show = verb.screen(as_json, quiet)
    request = request_of(source, config, values)
    if max_alpha is not None and request.labeling.labeled_by:
        raise InputError(
            "TB126",
            f"{option('max_alpha')} needs an interval, and {option('labeled_by')} gives none; "
            "leave one out.",
        )
    if dry_run:
        outlook = rehearse(show, request, values, is_timed=True)
        show.say("dry run", "nothing was written")
        return verb.write_json(outlook) if as_json else None
    from topbin.show.screen import summarize
    from topbin.store.runs import RESULT, SCHEMA, read_result

    try:
        is_new = _work(show, output, request, values, force=force, resume=resume)
    except (KeyboardInterrupt, SystemExit):  # from the keyboard, or by a signal
        if output.exists() and not (output / RESULT).exists():
            show.say("stopped", "there is no answer yet; to go on, the same command with --resume")
        raise

    answer = read_result(output)
    show.print(summarize(answer, run=str(output)))
    if answer.stopped:
        more = ", without --time-limit or with a larger one" * ("time limit" in answer.stopped)
        show.say("to go on", f"the same command with --resume{more}")
    wrote = "wrote" if is_new else "left as it was"
    show.say(wrote, f"{output}/report.html and {output}/candidates.csv")
    if as_json:
        verb.write_json({"schema": SCHEMA, **answer.to_dict()})
    if max_alpha is not None:
        _check_threshold(show, answer, max_alpha)


def _check_threshold(show: verb.Screen, answer: "Answer", max_alpha: float) -> None:
    """Exit 3 if the interval lies above this; or the point, if there is no interval."""
    novel, estimate = answer.novel, answer.estimate
    interval, low = estimate.interval, estimate.alpha
    if novel is not None:
        interval, low = novel.interval, novel.share
    low = low if interval is None else interval[0]
    if low > max_alpha:
        show.say("threshold", f"the interval begins at {figure(low)}, above {max_alpha:g}")
        raise SystemExit(verb.EXCEEDED)


@click.command(cls=verb.Verb)
@verb.sources_argument()
@request_options(*(each.name for each in DATA_OPTIONS if each.usual))
@request_options(*(each.name for each in DATA_OPTIONS if not each.usual), "confidence", usual=False)
@verb.json_option
def doctor(source: tuple[str, ...], as_json: bool, **values: Any) -> None:
    """What is wrong with a table, before any fit?

    Labels, columns that are not read, columns that leak the label, rows that belong together,
    copies, and how wide the interval will be. Nothing is fitted and nothing is written.

    \b
      topbin doctor claims.parquet --label is_fraud --id claim_id
      topbin doctor --positives known.csv --unlabeled rest.csv
    """  # fmt: skip
    show = verb.screen(as_json)
    outlook = rehearse(show, request_of(source, None, values), {}, is_timed=False)
    if as_json:
        verb.write_json(outlook)


def request_of(source: tuple[str, ...], config: Path | None, values: Mapping[str, Any]) -> Request:
    """What is asked for; what no table could fulfil is refused while nothing is written."""
    from topbin.job.prepare import refuse_same
    from topbin.store.sources import refuse_addresses

    stored = {} if config is None else _read_config(config, has_sql=values["sql"] is not None)
    typed = given(values)
    if source:
        typed["source"] = list(source)
    if typed.get("classes") and typed.get("unlabeled") and "source" in typed:
        typed["positives"] = typed.pop("source")  # the labeled rows
    if typed.get("positives") and len(source) == 1 and not typed.keys() & {"unlabeled", "label"}:
        typed["unlabeled"] = typed.pop("source")  # as in Python: fit(rest, positives=known)
    request = read_request({**stored, **typed})
    if config is not None:
        refuse_addresses(config, request, typed)
    _check_named(request.rows)
    refuse_same(request.rows)
    if request.budget.engine is not None:
        check_engine(request.budget.engine)
    return request


def _read_config(path: Path, *, has_sql: bool) -> Mapping[str, Any]:
    """The settings of a file; a query in it is not run, unless it is given again."""
    try:
        if path.is_relative_to("/dev"):  # which only the user's own shell names
            content = path.read_bytes()
        else:  # the settings of a received run may be a pipe that never ends
            content = read_file(Path(os.path.realpath(path)), CONFIG_BYTES)
        settings = tomllib.loads(content.decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("TB008", f'"{path}" cannot be read as TOML: {error}.') from error
    if "sql" in settings and not has_sql:
        raise InputError(
            "TB113",
            f'"{path}" has a query, and a query in a file of settings is never run. If you trust '
            f"it, give it again: {option('sql', settings['sql'])}",
        )
    return settings


def _check_named(rows: Rows) -> None:
    """Refuse rows that are not named in one of the two ways; say what was seen instead."""
    source, label = rows.source or (), rows.label
    positives, unlabeled = rows.positives or (), rows.unlabeled or ()
    values = {"label": [label] if label else [], "positives": positives, "unlabeled": unlabeled}
    for name, value in values.items():
        for word in value:
            if word.startswith("--"):
                raise click.UsageError(f"--{name} has no value: it is followed by {word}")
    if source and label and not (positives or unlabeled):
        return
    if positives and unlabeled and not (source or label):
        return
    seen_options = [f"--{n} {shlex.quote(word)}" for n, value in values.items() for word in value]
    more = [f"and {len(source) - SHOWN:,} more"] if len(source) > SHOWN else []
    words = " ".join([*map(shlex.quote, source[:SHOWN]), *more, *seen_options])
    seen = f"seen: {words}" if words else "seen: neither"
    if len(source) > 1 and positives and not (label or unlabeled):
        seen += ". If these are the unlabeled ones, name a folder, or a pattern in quotes: "
        seen += "--unlabeled 'rest/*.csv'"
    if len(source) == 2 and not seen_options:
        first, second = map(shlex.quote, source)
        seen += f". If the first are known positives: --positives {first} --unlabeled {second}"
    raise click.UsageError(f"{RULE}; {seen}")


def _work(
    show: verb.Screen,
    output: Path,
    request: Request,
    values: Mapping[str, Any],
    *,
    force: bool,
    resume: bool,
) -> bool:
    """Do the job in its run folder; False if the run was complete, and is left as it is."""
    from topbin.job.checkpoints import open_steps, read_finished, remove_steps
    from topbin.job.files import write_files
    from topbin.store.runs import check_room, open_run

    if not resume:
        check_room(output, force=force)  # before a pass over large files
    with engine_from(values, request) as engine, ExitStack() as held:
        open_folder = partial(open_run, output, request, force=force, resume=resume)
        data, run = _read(show, request, engine, lambda: held.enter_context(open_folder()))
        if read_finished(run, data):
            show.say("kept", "everything: the run was complete")
            remove_steps(run)
            return False
        result = _run(show, run, data, open_steps(run, data), engine)
        write_files(result, run)
        if result.stopped is None:
            remove_steps(run)
    return True


def _read(
    show: verb.Screen, request: Request, engine: Engine, opened: "Callable[[], RunFolder]"
) -> "tuple[Prepared, RunFolder]":
    """The rows, and the run folder, which is opened when they are known.

    Images are decoded into the folder, so there it comes first.
    """
    from topbin.job.labeled import check_folders, has_images
    from topbin.job.prepare import prepare
    from topbin.show.screen import progress_on

    run = None
    if has_images(request):
        check_folders(request)
        run = opened()
    folder = None if run is None else run.folder
    with progress_on(show) as tell:
        data = prepare(request, engine=engine, folder=folder, tell=tell)
    show.print_lines(data.lines())  # before any work: labels, columns left out, likely leaks
    return data, run or opened()


def rehearse(
    show: verb.Screen, request: Request, values: Mapping[str, Any], *, is_timed: bool
) -> Mapping[str, Any]:
    """Read and encode the data as the fit would, say what to expect, and write nothing."""
    from topbin.job.forecast import check_up, foresee
    from topbin.job.prepare import prepare
    from topbin.show.screen import in_words
    from topbin.store.answer import plain

    with engine_from(values, request) as engine:
        data = prepare(request, engine=engine)
    rows = f"{counted(data.labels.n_p, 'positive')}, {data.n_u:,} unlabeled"
    size = " × ".join(f"{n:,}" for n in data.X.shape)
    lines = [*data.lines(), line("rows", f"{rows}; the models read {size} numbers")]
    show.print_lines(lines)
    checkup = check_up(data)
    outlook = {"data": plain(data.about), "read": lines, **plain(checkup)}
    show.print_lines(checkup.lines())
    if is_timed:
        outlook["seconds"] = foresee(data)
        seconds = in_words(outlook["seconds"])
        show.say("time", f"about {seconds}, from one model that was fitted now")
    return outlook


def _run(
    show: verb.Screen, run: "RunFolder", data: "Prepared", steps: "SavedSteps", engine: Engine
) -> "Result":
    from topbin.job.fit import fit_prepared
    from topbin.job.models import kept_sentence
    from topbin.show.screen import progress_on

    if run.resumed:
        names = list(steps)
        run.log({"stage": "resumed", "kept": names})
        show.say("kept", kept_sentence(names, by_net=data.by_net))
    with progress_on(show) as tell_screen:

        def tell(event: Any) -> None:
            logged = {"stage": event.stage, "done": event.done, "total": event.total}
            if event.estimate is not None:
                logged["alpha"] = event.estimate.alpha
            run.log(logged)
            tell_screen(event)

        return fit_prepared(data, engine=engine, memory=steps, tell=tell)
