"""The audit of a run: rows go out to a person, answers come back, and α is estimated from them.

`Audit` is the door. Behind it, each verb has a file: draw rows, keep answers, judge them, use
proxies, label in a browser (`review`), learn from the answers (`refit`).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topbin.core.errors import InputError
from topbin.core.options import Read, Request, Rows
from topbin.evaluate.audit import AuditResult, WidthPlan
from topbin.evaluate.audit.scored import ANYWHERE
from topbin.job.audits.answers import AuditState, read_state, record_answers
from topbin.job.audits.draw import DrawRequest, draw_rows
from topbin.job.audits.judge import judge_audit, plan_audit_widths
from topbin.job.audits.proxies import ProxyGain, add_proxies
from topbin.job.files import StoredRun
from topbin.job.result import Result
from topbin.store.runs import read_result


@dataclass(frozen=True, slots=True)
class Audit:
    """The audits of a run folder; `topbin.audit(folder)` opens them.

    Answers are saved as they come, and all audits of a run add up.
    """

    folder: Path
    sources: Request = Request()

    @property
    def state(self) -> AuditState:
        """Every draw and every answer so far."""
        return read_state(self.folder)

    def draw(
        self,
        n: int = 100,
        *,
        where: str = ANYWHERE,
        stratified: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Draw n random unlabeled rows and return them, with an empty column for the answer.

        `where` is "anywhere", "top" (above the cut of `TopBin`) or "recall" (on both sides of the
        threshold of the candidates). Rows of earlier draws of the same kind are not drawn again,
        so that audits add up. A draw that is asked for again in the same words is the same rows,
        unless no seed is given and they have been answered. The rows are in random order and carry
        no score, so that whoever labels them is blind to it.

        A run that was made from a query, or from files that the folder cannot vouch for, needs its
        sources named again: a folder may come from someone else.
        """
        run = StoredRun.open(self.folder, self.sources)
        return draw_rows(run, DrawRequest(n, where, stratified, seed)).frame

    def record(self, answers: Mapping[int, Any], *, force: bool = False) -> int:
        """Save answers by row number, all or none; return how many are new.

        They are on the disk then. An answer is yes, no, ? or empty, in any of the words of
        `read_answers`. A row that was not drawn is TB117; a row that was answered differently
        before is TB119, unless `force` says that the new answer is right.
        """
        return record_answers(self.folder, answers, force=force)

    def judge(self, *, recall: float | None = None) -> AuditResult:
        """Estimate α from all answers so far; result.json and the report show it from now on.

        The first estimate stays beside it. The audit that assumes least leads, if it has enough
        answers; `others` are those of other kinds. `recall` asks whether so many of the positives
        are among the candidates.
        """
        return judge_audit(self.folder, recall=recall)

    def use_proxies(self, *columns: str) -> ProxyGain:
        """Use columns of the rows, cheaper labels, in all audits of the run, not earlier ones.

        A cell is yes or no as in an audit, or a number from 0 to 1; blank cells count as the mean.
        """
        return add_proxies(self.folder, columns, sources=self.sources)

    def refit(self) -> Any:
        """Train with the answers; the model and its candidates are in RUN/refit."""
        from topbin.job.audits.refit import refit_audit

        return refit_audit(self.folder, sources=self.sources)

    def plan(self, width: float) -> WidthPlan:
        """How many labels of each kind make the interval no wider than this."""
        return plan_audit_widths(self.folder, width)[0]


def audit(
    run: Result | str | Path, source: Any = None, *, positives: Any = None, read: Read = Read()
) -> Audit:
    """Open the audits of a run: draw rows, save answers, and estimate α from them.

    `run` is a run folder, or a result that was saved to one.

    `source` and `positives` name again what the run was made from, as in `topbin.fit`, and `read`
    its query, embeddings and encoder. That is needed if the folder cannot vouch for them: see
    TB151 in the list of codes.

    >>> import tempfile, numpy as np, pandas as pd, topbin as tb
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(5, 1, 150), rng.normal(0, 1, 150)]
    >>> frame = pd.DataFrame({"x": x, "known": np.arange(300) < 100})
    >>> folder = tb.fit(frame, "known", budget="fast").save(tempfile.mkdtemp() + "/run")
    >>> audit = tb.audit(folder)
    >>> rows = audit.draw(60)                                    # for a person to label
    >>> audit.record({row: row <= 150 for row in rows["row"]})   # the first 150 are positive
    60
    >>> found = audit.judge()                                    # 50 of 200 are positive
    >>> found.interval[0] < 0.25 < found.interval[1]
    True
    """
    folder: Any = run.folder if isinstance(run, Result) else run
    if folder is None:
        raise InputError(
            "TB114",
            "this result is in memory only, and an audit keeps its rows and answers in a run "
            'folder. Save it first: result.save("run1"), then topbin.audit(result).',
        )
    if not isinstance(folder, str | os.PathLike):
        got = type(folder).__name__
        raise InputError("TB006", f"an audit needs a run folder or a saved result; got {got}.")
    read_result(folder)
    named: Any = {"source" if positives is None else "unlabeled": source}
    return Audit(Path(folder), Request(rows=Rows(**named, positives=positives), read=read))
