"""`topbin fit`: from a table to how many, which rows, and a page to show others."""

import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from topbin.cli.engines import engine_options, open_engine
from topbin.cli.verb import (
    PASSED,
    SEED,
    Verb,
    bad_images_option,
    dates_option,
    decimal_option,
    gamma_options,
    image_root_option,
    json_option,
    option,
    output_option,
    partitions_option,
    screen,
    write_json,
)
from topbin.core.figures import counted, figure

METHODS = click.Choice(["tedn", "subtypes"])
PRESETS = click.Choice(["fast", "good", "best"])
SIDE = click.IntRange(8, 1024)
SECONDS = click.FloatRange(0, min_open=True)
RULE = "name a table and its --label, or --positives and --unlabeled"
SHARE = click.FloatRange(0, 1)
SHOWN = 3  # names of files in a message


@click.command(cls=Verb)
@click.argument("source", nargs=-1, type=click.Path())
@option(
    "--positives", group="Data", help="Known positives: a table, or a folder of images or texts."
)
@option("--unlabeled", group="Data", help="Unlabeled rows, images or texts, beside --positives.")
@option("--sql", group="Data", help="A query over the file; its rows are called data.")
@option("--id", "id_", group="Data", help="A column that names rows; never used as a feature.")
@option("--weight", group="Data", help="A column of row weights; they train the models only.")
@option("--drop", group="Data", multiple=True, help="Columns to leave out; repeat, or use commas.")
@option("--text", group="Data", multiple=True, help="Columns of free text, read as words.")
@option("--encoder", group="Data", help="A folder with an encoder that reads the texts.")
@option("--embeddings", group="Data", help="A file of vectors, one per row: .npy or .parquet.")
@option("--group", group="Data", help="A column that names what rows belong to, such as a patient.")
@option("--time", group="Data", help="A column of dates or numbers: folds are blocks of time.")
@option("--image", group="Data", help="The column that has paths of images.")
@option(
    "--image-size", group="Data", type=SIDE, help="Pixels of a side.  [that of the images, ≤ 64]"
)
@image_root_option
@bad_images_option
@dates_option
@decimal_option
@partitions_option
@option("--label", group="Labels", help="The column that marks the positives.")
@option("--positive", group="Labels", help="Its value for a positive, if not 1 or true.")
@option("--negative", group="Labels", help="Its value for a row known to be negative.")
@option("--subtypes", group="Labels", is_flag=True, help="Report how often kinds are labeled.")
@option("--method", group="Labels", type=METHODS, help="subtypes: rarely labeled kinds count more.")
@option("--labeled-by", group="Labels", multiple=True, help="Columns that decide who is labeled.")
@option("--preset", group="Budget", default="good", type=PRESETS, help="How much work to put in.")
@option(
    "--time-limit", group="Budget", type=SECONDS, help="Seconds after which no new round begins."
)
@option("--threads", group="Budget", type=click.IntRange(1), help="Folds fitted at once.")
@option("--seed", group="Budget", default=0, type=SEED, help="Of folds and models.")
@option("--sample", group="Engine", type=int, help="Unlabeled rows to train on.  [100000]")
@engine_options("For files larger than memory: train on a sample, score all.")
@option("--review", group="Output", default=100, help="How many candidates to list.")
@option("--min-precision", group="Output", type=float, help="Or: list rows down to this precision.")
@option("--confidence", group="Output", default=0.95, help="Of the interval and the bound.")
@gamma_options
@option("--max-alpha", group="Output", type=SHARE, help="Exit 3 if the interval lies above this.")
@output_option("The run folder.", Path("run"))
@option("--force", group="Output", is_flag=True, help="Start over in an existing run folder.")
@option("--resume", group="Output", is_flag=True, help="Continue a run that was stopped.")
@option(
    "--dry-run",
    group="Output",
    is_flag=True,
    help="Only say how the data is read, and how long the fit takes.",
)
@option("--quiet", group="Output", is_flag=True, help="Say nothing but errors.")
@json_option
def fit(
    source: tuple[str, ...],
    output: Path,
    force: bool,
    resume: bool,
    quiet: bool,
    as_json: bool,
    max_alpha: float | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """How many of the unlabeled rows are positive, and which ones?

    \b
      topbin fit claims.parquet --label is_fraud --id claim_id -o run1
      topbin fit --positives known.csv --unlabeled rest.csv -o run2
      topbin fit --positives photos/cats --unlabeled photos/rest -o run3
      topbin fit claims.csv --label is_fraud --dry-run
    """  # fmt: skip
    show = screen(as_json, quiet)
    settings = _settings(source, options, max_alpha)
    if dry_run:
        found = _rehearse(show, settings, options)
        return write_json(found) if as_json else None
    is_new = _work(show, output, settings, options, force=force, resume=resume)
    from topbin.job.result import summarize
    from topbin.store.runs import read_result

    found = read_result(output)
    show.print(summarize(found))
    if found["stopped"]:
        show.print(f"to go on        {_way_on(found['stopped'])}")
    said = "wrote           " if is_new else "left as it was  "
    show.print(f"{said}{output}/report.html and {output}/candidates.csv")
    if as_json:
        write_json(found)
    low = (found["estimate"]["interval"] or [found["estimate"]["alpha"]])[0]
    if max_alpha is not None and low > max_alpha:
        show.print(f"threshold       the interval begins at {figure(low)}, above {max_alpha:g}")
        raise SystemExit(PASSED)


def _work(
    show: Any, output: Path, settings: dict[str, Any], options: dict[str, Any], **how: bool
) -> bool:
    """Do the job in its run folder; False if the run was complete, and is left as it is."""
    from topbin.job.files import write_files
    from topbin.job.stages import close_stages, finished, open_stages
    from topbin.store.runs import check_room

    if not how["resume"]:
        check_room(output, force=how["force"])  # before a pass over large files
    with open_engine(options) as engine, ExitStack() as held:
        data, run = _read(show, output, settings, engine, held, how)
        if finished(run, data):
            show.print("kept            everything: the run was complete")
            close_stages(run)
            return False
        result = _run(show, run, data, options, open_stages(run, data, settings), engine)
        write_files(result, run)
        if result.stopped is None:
            close_stages(run)
    return True


def _read(
    show: Any, output: Path, settings: dict[str, Any], engine: Any, held: ExitStack, how: Any
) -> tuple[Any, Any]:
    """The rows, and the run folder, which is opened when they are known.

    Images are decoded into the folder, so there it comes first.
    """
    from topbin.job.images import image_options
    from topbin.job.prepare import from_settings
    from topbin.job.progress import shown_decoding
    from topbin.store.runs import open_run

    run, images = None, image_options(settings)
    if images is not None:
        run = held.enter_context(open_run(output, settings, **how))
        with shown_decoding(show) as tell:
            how_read = replace(images, folder=output, tell=tell)
            data = from_settings(settings, engine, images=how_read)
    else:
        data = from_settings(settings, engine)
    for line in data.lines():  # before any work: labels, columns left out, likely leaks
        show.print(line)
    return data, run or held.enter_context(open_run(output, settings, **how))


def _rehearse(show: Any, settings: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Read and encode the data as the fit would, time one model, and write nothing."""
    from topbin.job.fit import foresee
    from topbin.job.images import image_options
    from topbin.job.prepare import from_settings
    from topbin.job.progress import in_words

    with open_engine(options) as engine:
        data = from_settings(settings, engine, images=image_options(settings))
    _check_labeling(data, settings)
    lines, seconds = data.lines(), foresee(data, options["preset"])
    rows = f"{counted(data.labels.n_p, 'positive')}, {data.n_u:,} unlabeled"
    size = " × ".join(f"{n:,}" for n in data.X.shape)
    lines += [f"rows            {rows}; the models read {size} numbers"]
    lines += [f"time            about {in_words(seconds)}, from one model that was fitted now"]
    for line in lines:
        show.print(line)
    show.print("dry run         nothing was written")
    return {"data": data.to_dict(), "read": lines, "seconds": seconds}


def _check_labeling(data: Any, settings: dict[str, Any]) -> None:
    """Refuse what the fit would refuse: columns that cannot explain who is labeled."""
    from topbin.data.images.rows import Images
    from topbin.job.images import refuse_labeling
    from topbin.job.labeling import check_labeling, classifier_for, labeling_in

    asked = check_labeling(**labeling_in(settings))
    if isinstance(data.X, Images):
        refuse_labeling(**asked)
    else:
        classifier_for(data, asked["method"], asked["labeled_by"])


def _settings(
    source: tuple[str, ...], options: dict[str, Any], max_alpha: float | None = None
) -> dict[str, Any]:
    """What was asked for, as run.toml keeps it: nothing that was left out.

    What no table could fulfil is refused while nothing is written, or removed by --force.
    """
    from topbin.evaluate.sensitivity import asked_for
    from topbin.job.fit import check_options
    from topbin.job.labeling import check_labeling, labeling_in
    from topbin.job.prepare import refuse_same

    options = {key.rstrip("_"): value for key, value in options.items()}
    if options["positives"] and len(source) == 1 and not (options["unlabeled"] or options["label"]):
        options["unlabeled"], source = source[0], ()  # as in Python: fit(rest, positives=known)
    _check_named(source, **{name: options[name] for name in ("label", "positives", "unlabeled")})
    refuse_same(options["unlabeled"], options["positives"])
    names = ("preset", "review", "min_precision", "confidence", "time_limit", "sample")
    check_options(**{name: options[name] for name in names})
    selective = asked_for(options["gamma"], options["at_most"], options["at_least"])
    if options["sql"] and (options["engine"] or options["sample"]):
        raise click.UsageError("--sql needs all rows in memory; leave out --engine and --sample")
    asked = {"source": list(source), **options}
    asked |= {name: _split_names(options[name]) for name in ("drop", "text", "labeled_by")}
    asked |= {name: options[name] or None for name in ("partitions", "subtypes")}
    asked["bad_images"] = None if options["bad_images"] == "leave-out" else options["bad_images"]
    limits = {"max_alpha": max_alpha, "min_precision": options["min_precision"]}
    check_labeling(**labeling_in(asked), needs_interval=limits)
    _check_read(asked)
    asked["gamma"] = None if selective is None else list(selective["gamma"])
    return {key: value for key, value in asked.items() if value not in (None, [])}


def _check_named(source: tuple[str, ...], **named: str | None) -> None:
    """Refuse rows that are not named in one of the two ways; say what was seen instead."""
    for name, value in named.items():
        if value is not None and value.startswith("--"):
            raise click.UsageError(f"--{name} has no value: it is followed by {value}")
    label, positives, unlabeled = (named[name] for name in ("label", "positives", "unlabeled"))
    if source and label and not (positives or unlabeled):
        return
    if positives and unlabeled and not (source or label):
        return
    given = [f"--{name} {shlex.quote(value)}" for name, value in named.items() if value]
    more = [f"and {len(source) - SHOWN:,} more"] if len(source) > SHOWN else []
    told = " ".join([*map(shlex.quote, source[:SHOWN]), *more, *given])
    seen = f"seen: {told}" if told else "seen: neither"
    if len(source) > 1 and positives and not (label or unlabeled):
        seen += ". If these are the unlabeled ones, name a folder, or a pattern in quotes: "
        seen += "--unlabeled 'rest/*.csv'"
    if len(source) == 2 and not given:
        first, second = map(shlex.quote, source)
        seen += f". If the first are known positives: --positives {first} --unlabeled {second}"
    raise click.UsageError(f"{RULE}; {seen}")


def _check_read(asked: dict[str, Any]) -> None:
    """Refuse --labeled-by with a column that another option keeps from the models."""
    for name in asked["labeled_by"]:
        for other in ("drop", "id", "weight", "group", "time"):
            if name == asked[other] or (other == "drop" and name in asked["drop"]):
                raise click.UsageError(
                    f'--labeled-by and --{other} both name "{name}": a column that decides who is '
                    "labeled must be a feature, and with the other option it is none"
                )


def _split_names(values: tuple[str, ...]) -> list[str]:
    """Column names given several times, or once with commas.

    >>> _split_names(("a,b", "c"))
    ['a', 'b', 'c']
    """
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _run(show: Any, run: Any, data: Any, options: dict[str, Any], stages: Any, engine: Any) -> Any:
    from topbin.job.fit import fit as fit_job
    from topbin.job.fit import steps_of_first
    from topbin.job.labeling import labeling_in
    from topbin.job.progress import shown

    if run.resumed:
        kept = list(stages)
        run.log({"stage": "resumed", "kept": kept})
        show.print(_kept_line(kept, steps_of_first(data)))
    with shown(show) as tell_screen:

        def tell(event: Any) -> None:
            logged = {"stage": event.stage, "done": event.done, "total": event.total}
            if event.estimate is not None:
                logged["alpha"] = event.estimate.alpha
            run.log(logged)
            tell_screen(event)

        names = ("preset", "review", "min_precision", "confidence", "time_limit", "threads", "seed",
                 "gamma", "at_most", "at_least")  # fmt: skip
        asked = {name: options[name] for name in names}
        labeled_by = _split_names(options["labeled_by"])
        asked |= labeling_in({**options, "labeled_by": labeled_by})
        return fit_job(data, **asked, engine=engine, memory=stages, on_event=tell)


def _kept_line(steps: list[str], first: int) -> str:
    """What a resumed run need not do again; `first` is how many steps the first estimate has.

    >>> print(_kept_line([*(f"pvu-0-{k}" for k in range(4)), "tedn-0-0", "tedn-0-1"], first=4))
    kept            the first estimate and 2 steps of the careful one, from before
    """
    if not steps:
        return "kept            nothing: no step was finished on these rows; starting over"
    if len(steps) < first:
        return "kept            a part of the first estimate, from before"
    more = sum(not step.startswith("pvu-") for step in steps)
    also = f" and {more} step{'s' * (more > 1)} of the careful one" if more else ""
    return f"kept            the first estimate{also}, from before"


def _way_on(stopped: str) -> str:
    """What to do about a run that ended early.

    >>> _way_on("time limit after 1 of 6 repeats")
    'the same command with --resume, without --time-limit or with a larger one'
    """
    limit = ", without --time-limit or with a larger one" if "time limit" in stopped else ""
    return f"the same command with --resume{limit}"
