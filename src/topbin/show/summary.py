"""An answer as text, for the screen."""

from collections.abc import Sequence

from topbin.core.estimate import RANGE_ONLY
from topbin.core.formatting import counted, figure
from topbin.evaluate.audit.judging import WITH_SCORES
from topbin.evaluate.curves import what_to_expect
from topbin.evaluate.verdict import RUN
from topbin.store.answer import Answer


def summarize(found: Answer, read: Sequence[str] = (), run: str = RUN) -> str:
    """An answer as text; `read` are lines about how the data was read, `run` is its folder."""
    estimate, listed = found.estimate, found.candidates
    lines = [f"stopped early   {found.stopped}; best so far:"] if found.stopped else []
    lines += [] if found.verdict is None else found.verdict.lines(run)
    lines += audit_lines(found)
    lines += [] if found.remedy is None else [f"remedy          {found.remedy.sentence}"]
    lines += [found.estimate_told(), f"agreement       {found.agreement}", *read]
    if found.labeling is not None:
        lines += found.labeling.lines if found.novel is None else []
    elif found.random_labels is not None and not found.random_labels.says_nothing:
        lines.append(f"random labels?  {found.random_labels.sentence}")
    for one in found.by:
        lines += one.lines()
    ends = listed.precision, listed.precision_low, listed.precision_high
    told = f"{listed.why}; {what_to_expect(estimate, *ends, found.listed)}"
    lines.append(f"candidates      {counted(listed.rows)}: {told}")
    if estimate.worth_p >= RANGE_ONLY and estimate.interval is not None:
        cases = (f"{c.case} {figure(c.alpha)}: {counted(c.rows)}" for c in found.sensitivity)
        lines.append("what if         " + "; ".join(cases))
    lines += [] if found.gamma is None else found.gamma.lines()
    return "\n".join(lines)


def audit_lines(found: Answer) -> list[str]:
    """α with the audit and without it, and what each needs; nothing if there was no audit."""
    told, first = found.audit, found.estimate
    if told is None:
        return []
    n_u, level = found.data.n_u, f"{100 * told.confidence:g} %"
    both = told.together or told  # older runs have only what the audit says alone
    is_both = told.together is not None and not told.together.alone
    lines = [] if found.novel is None else [f"novel           {found.novel}"]
    lines += [
        f"with the audit  α = {figure(both.alpha)} of the {n_u:,} unlabeled "
        f"{found.in_words('are positive')} (about {counted(round(both.alpha * n_u))})",
        f"{level} interval   {_ends(both.interval)}   {WITH_SCORES if is_both else told.assumes}",
    ]
    lines += [f"audit alone     {_ends(told.interval)}   {told.assumes}"] if is_both else []
    ends = "" if first.interval is None else f"; {_ends(first.interval)}"
    lines.append(f"without it      {first.in_short}{ends}   {first.interval_assumes}")
    lines.append(f"audit           {found.in_words(told.sentence)}")
    names = ", ".join(f'"{name}"' for name in told.proxies)
    lines += [f"proxies         {names}, as far as the answers agree with them"] if names else []
    lines += [f"labels          {told.labels}"] if told.labels else []
    lines += [f"if selective    {told.gamma.sentence}"] if told.gamma else []
    lines += [f"recall          {told.recall.sentence}"] if told.recall else []
    return lines + [f"also            {other.sentence}" for other in told.others]


def _ends(interval: Sequence[float]) -> str:
    return "{} to {}".format(*map(figure, interval))


def run_lines(found: Answer) -> list[str]:
    """What a run folder holds, in the words of its screen."""
    data, listed = found.data, found.candidates
    lines = [
        f"data            {', '.join(data.source)}: {data.rows:,} rows, {data.hash}",
        f"labels          {data.label_note}",
        found.estimate_told(),
        f"agreement       {found.agreement}",
        f"candidates      {listed.rows:,} rows in {listed.file}",
    ]
    lines += audit_lines(found)
    lines += [f"stopped early   {found.stopped}"] if found.stopped else []
    model = f"{found.model.name}, preset {found.preset}, seed {found.seed}"
    return [*lines, f"model           {model}, topbin {found.topbin}"]
