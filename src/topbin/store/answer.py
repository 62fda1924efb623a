"""Answer: what a run found, as a typed value. result.json is its serialised form.

Summary, report, review, `inspect` and exit codes read nothing else. A file that somebody else made
is held against the types of these fields, and refused if it does not fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from topbin.core.estimate import AlphaEstimate, Share
from topbin.core.formatting import line, low_to_high, percent
from topbin.data.features import Dropped
from topbin.data.findings import Finding
from topbin.evaluate.audit import AuditResult
from topbin.evaluate.audit.judging import Together
from topbin.evaluate.curves import what_to_expect
from topbin.evaluate.parts import ByGroup
from topbin.evaluate.sensitivity import Sensitivity
from topbin.evaluate.verdict import Verdict
from topbin.learn.labeling.propensity import Propensity
from topbin.learn.labeling.scar import ScarTest
from topbin.learn.labeling.subtypes import Subtype, Subtypes
from topbin.learn.loop import Epoch
from topbin.learn.open_set import ClassShare, NovelShare

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
NamedBy = Literal["source", "positives", "unlabeled", "embeddings", "encoder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The unlabeled rows that a run on larger files was fitted on."""

    rows: Positive
    of: Count
    seed: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageColumn:
    """The column of paths, channels, height and width, and the folder the paths are relative to."""

    column: str
    shape: tuple[Positive, Positive, Positive]
    root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSum:
    """A file that an option of the run named, or a folder of texts, and its SHA-256.

    Large files have none; then an audit asks for them by name.
    """

    option: NamedBy
    path: str
    size: Positive
    sum: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRead:
    """The rows of a run, and how they were read.

    `n_n` are rows known to be negative: they count among all rows, and train nothing. `together`
    says in words what folds keep together. `files` are those that an audit may read again.
    """

    source: Annotated[tuple[str, ...], Meta(min_length=1)]
    hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
    rows: Count
    n_p: Count
    n_u: Count
    label_note: str
    features: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    findings: tuple[Finding, ...]
    n_n: Count = 0
    label: str | None = None
    positive: str | None = None
    classes: str | None = None
    id: str | None = None
    group: str | None = None
    time: str | None = None
    together: str | None = None
    weight: str | None = None
    sample: Sampled | None = None
    image: ImageColumn | None = None
    files: tuple[FileSum, ...] = ()


class Case(msgspec.Struct, frozen=True):
    """What follows if α has another value."""

    case: str = msgspec.field(name="if")
    alpha: Share
    rows: Count
    pi: Share


class ModelName(msgspec.Struct, frozen=True):
    """The class of the model of a run."""

    name: str = msgspec.field(name="class")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRecord:
    """An epoch of a net, or a round of refitting."""

    epoch: int
    loss: float | None
    alpha: float | None
    phase: str | None = None
    training_error: float | None = None
    kept: int | None = None

    @classmethod
    def of(cls, epoch: Epoch) -> "EpochRecord":
        """An epoch of a fitted classifier's `history_` as an answer keeps it."""
        return cls(
            epoch=epoch.epoch,
            phase=epoch.phase,
            loss=epoch.loss,
            training_error=epoch.training_error,
            alpha=epoch.alpha if epoch.estimate is None else epoch.estimate.alpha,
            kept=epoch.n_kept,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The rows that are listed: how many, from which score on, and what to expect of them.

    `precision` is the mean of their probabilities, `precision_low` and `precision_high` are the
    ends of its interval; `recall` is the share of the positives among all unlabeled rows that this
    makes. `sum` is the SHA-256 of the file; it shows that it was changed.
    """

    rows: Count
    threshold: float | None
    precision: float | None
    precision_low: float | None
    recall: float
    why: str = ""
    precision_high: float | None = None
    sum: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """How much a column or a word moves the score of held-out rows."""

    column: str
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingFound:
    """How labels depend on the rows: by subtype, or by named columns; or why it cannot be said.

    If the labeled rows have classes: the `shares` of these, and the share of `novel` rows.

    An open end of the interval of Γ is None.
    """

    kind: Literal["subtypes", "unread", "propensity", "classes"]
    lines: tuple[str, ...]
    reason: str | None = None
    parts: tuple[Subtype, ...] = ()
    gamma: float | None = None
    gamma_interval: tuple[float, float | None] | None = None
    confidence: float | None = None
    merged: int | None = None
    test: ScarTest | None = None
    limit: str = ""
    labeled_by: tuple[str, ...] = ()
    low: float | None = None
    mean: float | None = None
    high: float | None = None
    alpha: float | None = None
    rounds: int | None = None
    converged: bool | None = None
    shares: tuple[ClassShare, ...] = ()
    novel: NovelShare | None = None

    @classmethod
    def of(cls, found: "Subtypes | Propensity | LabelingFound | None") -> "LabelingFound | None":
        """What a fit found, if anybody asked; of a propensity the notes of the estimate speak."""
        if found is None or isinstance(found, LabelingFound):
            return found
        is_subtypes = isinstance(found, Subtypes)
        kind = "subtypes" if is_subtypes else "propensity"
        lines = found.summary().splitlines() if is_subtypes else []
        return msgspec.convert(plain({"kind": kind, "lines": lines, **found.to_dict()}), cls)

    @classmethod
    def of_classes(cls, shares: Sequence[ClassShare], novel: NovelShare) -> "LabelingFound":
        """The shares of the known classes among the unlabeled rows, and of rows of none of them."""
        lines = [line("novel", novel)]
        if novel.at_least:
            lines.append(line("at least", f"{percent(novel.at_least)} %, for any overlap"))
        lines += [line("class", share) for share in shares]
        named = tuple(replace(share, label=str(share.label)) for share in shares)
        return cls(kind="classes", lines=tuple(lines), shares=named, novel=novel)

    @classmethod
    def unread(cls, reason: str) -> "LabelingFound":
        """Subtypes that were asked for and could not be read."""
        lines = (line("subtypes", f"could not be read: {reason}"),)
        return cls(kind="unread", lines=lines, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """The quick estimate without columns that seem to leak, or by the group that rows belong to."""

    kind: Literal["drop", "group"]
    columns: Annotated[tuple[str, ...], Meta(min_length=1)]
    estimate: AlphaEstimate

    @property
    def what(self) -> str:
        """In words that can begin a sentence."""
        names = " and ".join(f'"{name}"' for name in self.columns)
        return f"without {names}" if self.kind == "drop" else f"by {names}"

    @property
    def option(self) -> str:
        """What to add to the command."""
        return " ".join(f"--{self.kind} {quote(name)}" for name in self.columns)

    @property
    def sentence(self) -> str:
        """The answer with the remedy."""
        quick = self.estimate
        if quick.has_no_signal:
            return f"{self.what} nothing separates positives from unlabeled rows"
        ends = "" if quick.interval is None else f", {low_to_high(quick.interval)}"
        return f"{self.what} {quick.in_short}{ends} (a quick estimate)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run found. It holds no times, so that a resumed run leaves the same bytes.

    `verdict` says what to do with it, and `remedy` what α is without what seems to be wrong.
    `first` is the quick estimate that came first, `methods` how others read the same scores, and
    `sensitivity` what follows at the ends of the interval. `stopped` says why the run ended early,
    if it did, `random_labels` whether the labeled positives look like the others, and `by` what α
    is in each group of a column.
    """

    verdict: Verdict | None = None
    remedy: Remedy | None = None
    topbin: str
    seed: int
    preset: str
    data: DataRead
    estimate: AlphaEstimate
    first: AlphaEstimate
    methods: tuple[AlphaEstimate, ...]
    agreement: str
    model: ModelName
    history: tuple[EpochRecord, ...]
    sensitivity: tuple[Case, ...]
    candidates: Candidates
    versions: dict[str, str]
    stopped: str | None = None
    importance: tuple[Importance, ...] = ()
    labeling: LabelingFound | None = None
    random_labels: ScarTest | None = None
    gamma: Sensitivity | None = None
    by: tuple[ByGroup, ...] = ()
    audit: AuditResult | None = None

    @property
    def novel(self) -> NovelShare | None:
        """The share of rows of no known class, if that was the question; with the audit, if any."""
        before = None if self.labeling is None else self.labeling.novel
        if before is None or (audited := self.audited) is None:
            return before
        ends = 1 - audited.interval[1], 1 - audited.interval[0]
        return replace(before, share=1 - audited.alpha, interval=ends, at_least=None)

    @property
    def estimate_lines(self) -> str:
        """The summary of the estimate, after the shares of known classes if there are any."""
        summary = self.in_words(self.estimate.summary(n_u=self.data.n_u, negatives=self.data.n_n))
        return "\n".join([*(self.labeling.lines if self.novel and self.labeling else ()), summary])

    def in_words(self, text: str) -> str:
        """What is said of positives, in the words of the question."""
        return text if self.novel is None else text.replace("are positive", "are of a known class")

    @property
    def listed(self) -> str:
        """What the candidates are likely to be."""
        return "positive" if self.data.classes is None else "novel"

    @property
    def expected(self) -> str:
        """What to expect of the candidates, in words."""
        rows = self.candidates
        ends = rows.precision, rows.precision_low, rows.precision_high
        return what_to_expect(self.estimate, *ends, self.listed)

    @property
    def audited(self) -> AuditResult | Together | None:
        """What the audit made of α: scores and answers together, or the answers alone."""
        return None if self.audit is None else self.audit.together or self.audit

    def pi_at(self, alpha: float) -> float:
        """π, the share of positives among all rows of the run, if α had this value."""
        return self.estimate.pi_at(alpha, n_u=self.data.n_u, negatives=self.data.n_n)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, as result.json has them."""
        content = plain(self)
        for estimate in (content["estimate"], content["first"], *content["methods"]):
            estimate["pi"] = self.pi_at(estimate["alpha"])
        return dict(content)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Answer":
        """The answer that `to_dict` made; `msgspec.ValidationError` if it is none."""
        return msgspec.convert(content, cls)


def plain(value: Any) -> Any:
    """Values that JSON has: numbers of numpy become Python's, NaN and infinities None.

    >>> from numpy import float64
    >>> plain({"a": float64(0.5), "b": (1, float("nan"))})
    {'a': 0.5, 'b': [1, None]}
    """

    def as_plain(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else str(value)

    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=as_plain))
