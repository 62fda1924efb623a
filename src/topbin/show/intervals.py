"""α with its interval: by group, by period, against Γ; and how it settled in training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError
from topbin.evaluate.parts import ByGroup
from topbin.evaluate.sensitivity import GAMMAS, Conclusion, Sensitivity, sensitivity
from topbin.evaluate.watch import Watched
from topbin.show.scores import BOUND, CHOSEN, POSITIVE, UNLABELED, Display
from topbin.store.answer import EpochRecord

NAMES = 8  # labels on an axis


def columns_of(values: Sequence[Any], *names: str) -> Mapping[str, NDArray[Any]]:
    """One column per field of these values; two for an interval: its low and its high end.

    >>> from topbin.evaluate.sensitivity import GammaInterval
    >>> columns_of([GammaInterval(2.0, (0.25, 0.5))], "gamma", "interval")
    {'gamma': array([2.]), 'low': array([0.25]), 'high': array([0.5])}
    """
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        column = np.array([getattr(value, name) for value in values])
        if name.endswith("interval"):
            before, ends = name.removesuffix("interval"), column.reshape(-1, 2)
            columns |= {f"{before}low": ends[:, 0], f"{before}high": ends[:, 1]}
        else:
            columns[name] = column
    return columns


@dataclass(repr=False)
class ByDisplay(Display):
    """α of each group with its interval; the table also has difference and ratio to the rest.

    `groups` are what `Result.by` gives.
    """

    caption = (
        "α of each group, by scores of the same models. Intervals also contain what is not known "
        "about α of all rows, so groups can differ although their intervals overlap: the table "
        "compares each group with the rest."
    )
    groups: ByGroup

    def columns(self) -> Mapping[str, Any]:
        """One row per group."""
        return columns_of(
            self.groups.groups, "group", "n_p", "n_u", "alpha", "interval", "difference",
            "difference_interval", "ratio", "ratio_interval", "differs",
        )  # fmt: skip

    @property
    def height(self) -> float:
        """Inches that the groups need."""
        return max(3.0, 1.8 + 0.42 * len(self.groups.groups))

    def draw(self, ax: Any) -> None:
        """A line per group from the top down, its name above it; groups that differ are dark."""
        level, groups = f"{100 * self.groups.confidence:g} % interval", self.frame()
        for y, name in groups["group"].items():
            ax.text(0.01, y - 0.22, name, transform=ax.get_yaxis_transform(), fontsize="small")
        kinds = (False, POSITIVE, level), (True, CHOSEN, f"{level}, differs from the rest")
        for differs, color, label in kinds:
            part = groups[groups["differs"] == differs]
            if len(part):
                ends = part["low"], part["high"]
                ax.hlines(part.index, *ends, color=color, linewidth=2, label=label)
                ax.plot(part["alpha"], part.index, "o", color=color, markersize=5)
        rows = np.average(groups["alpha"], weights=groups["n_u"]) if len(groups) else 0.0
        ax.axvline(rows, color=UNLABELED, linewidth=1, linestyle="--", label="all groups")
        ax.set(
            xlim=(0, min(1.0, 1.1 * max([0.02, *groups["high"]]))),
            ylim=(len(groups) - 0.5, -0.8),
            yticks=[],
            xlabel="share of positives, α",
            title=f"α by {self.groups.column}",
        )


@dataclass(repr=False)
class WatchDisplay(Display):
    """α of each period that has rows, its interval, and where alarms were raised.

    `periods` are those of `topbin.watch`.
    """

    caption = "α of the rows of each period, by scores of the model of the run."
    periods: Sequence[Watched]
    confidence: float

    def columns(self) -> Mapping[str, Any]:
        """One row per period that has rows."""
        known = [period for period in self.periods if period.interval is not None]
        return columns_of(known, "start", "alpha", "interval", "alarm", "is_unknown")

    def draw(self, ax: Any) -> None:
        """The curve, its band, and a mark for each alarm."""
        periods, label = self.frame(), f"{100 * self.confidence:g} % interval"
        place, alpha = np.arange(len(periods)), periods["alpha"].to_numpy()
        unknown = periods["is_unknown"].to_numpy(bool)
        ends = np.vstack([alpha - periods["low"], periods["high"] - alpha]).clip(0)
        shown = np.where(unknown, np.nan, alpha)  # with a gap in the curve
        ax.errorbar(place, shown, yerr=ends, fmt="o-", color=POSITIVE, ecolor=POSITIVE,
                    elinewidth=0.8, linewidth=1.2, markersize=3.5, label=label)  # fmt: skip
        if unknown.any():
            ax.plot(place[unknown], alpha[unknown], "x", color=CHOSEN, label="α is unknown")
        kinds = ("share", CHOSEN, "the share has moved"), ("rows", BOUND, "the rows have moved")
        for kind, color, label in kinds:
            marked = place[periods["alarm"] == kind]
            if marked.size:
                ax.plot(marked, alpha[marked], "D", color=color, markersize=8, label=label)
        step = max(1, -(-place.size // NAMES))
        names = periods["start"][::step]
        ax.set_xticks(place[::step], names, rotation=30, ha="right", fontsize=7)
        ax.set(ylabel="share of positives, α", title="α of each period", ylim=(0, None))


@dataclass
class GammaDisplay(Display):
    """How far the interval opens as labels may be less and less random.

    On the left, at Γ = 1, positives are labeled at random. The table has one row per Γ.

    >>> tails = np.ones(1000), np.repeat([1.0, 0.0], [100, 900])
    >>> GammaDisplay.from_scores(*tails, gamma=2).frame()["gamma"].tolist()
    [1.0, 2.0]
    """

    caption = (
        "The interval of α for each Γ. Besides Γ, it assumes about the overlap of the classes what "
        "the interval of the estimate assumes."
    )
    gamma: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sensitivity: Sensitivity

    @classmethod
    def from_scores(cls, scores_p: Any, scores_u: Any = None, **options: Any) -> "GammaDisplay":
        """The picture of `topbin.sensitivity`, which takes the same parameters."""
        return cls.of(sensitivity(scores_p, scores_u, **options))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        gamma: Any = GAMMAS,
        at_most: float | None = None,
        at_least: float | None = None,
        ax: Any = None,
    ) -> "GammaDisplay":
        """Draw the picture of a fitted classifier or of the result of `topbin.fit`."""
        made = cls.from_scores(estimator, gamma=gamma, at_most=at_most, at_least=at_least)
        return made.plot(ax)

    @classmethod
    def of(cls, found: Sensitivity) -> "GammaDisplay":
        """The picture of an answer of `topbin.sensitivity`."""
        return cls(**columns_of(found.intervals, "gamma", "interval"), sensitivity=found)

    def draw(self, ax: Any) -> None:
        """The band of intervals, the conclusions, and where each of them falls."""
        level = f"{100 * self.sensitivity.confidence:g} % interval"
        self.band(ax, self.gamma, self.low, self.high, level)
        for ends in (self.low, self.high):
            ax.plot(self.gamma, ends, "o-", color=POSITIVE, linewidth=1.6, markersize=4)
        conclusions = self.sensitivity.conclusions
        for conclusion in conclusions:
            self._mark(ax, conclusion)
        top = max(self.high.max(), *(conclusion.alpha for conclusion in conclusions), 0.02)
        ax.set(
            xlim=(1, max(self.gamma.max(), 1.1)),
            ylim=(0, min(1.02, 1.15 * top)),
            xlabel="Γ: odds of being labeled differ up to so many times",
            ylabel="share of positives, α",
            title="If positives are not labeled at random",
        )

    def _mark(self, ax: Any, conclusion: Conclusion) -> None:
        """A conclusion as a line, and its tipping point as a mark on it."""
        alpha, tipping = conclusion.alpha, conclusion.tipping
        label = f"{conclusion.kind} {alpha:g}"
        ax.axhline(alpha, color=BOUND, linewidth=1, linestyle=":", label=label)
        if tipping is not None and tipping <= self.gamma.max():
            label = f"holds up to Γ = {tipping:.2f}"
            ax.plot([tipping], [alpha], "D", color=CHOSEN, markersize=6, label=label)


@dataclass(repr=False)
class HistoryDisplay(Display):
    """How the estimate settled while the model learned; one row per epoch and model.

    It is the paper's figure 1, right.
    """

    caption = (
        "α and the training loss after each round, in which the unlabeled rows that seem positive "
        "are discarded."
    )
    epoch: NDArray[np.int64]
    loss: NDArray[np.float64]
    alpha: NDArray[np.float64]

    @classmethod
    def from_estimator(cls, classifier: Any, *, ax: Any = None) -> "HistoryDisplay":
        """Draw the picture of a fitted classifier's `history_`."""
        return cls.from_history([*map(EpochRecord.of, classifier.history_)]).plot(ax)

    @classmethod
    def from_history(cls, history: Sequence[EpochRecord]) -> "HistoryDisplay":
        """From the records that an answer has."""
        if not history:
            raise InputError("TB001", "the history is empty; fit a classifier first.")
        columns = columns_of(history, "epoch", "loss", "alpha")
        # None, where there is no loss or no estimate, becomes NaN.
        loss, alpha = (columns[name].astype(np.float64) for name in ("loss", "alpha"))
        return cls(columns["epoch"], loss, alpha)

    def draw(self, ax: Any) -> None:
        """The mean of all models, and from the lowest to the highest."""
        by_epoch = self.frame().groupby("epoch")
        mean, low, high = by_epoch.mean(), by_epoch.min(), by_epoch.max()
        marker = "o" if len(mean) < 30 else None
        for name, color, text in (("alpha", POSITIVE, "α̂"), ("loss", UNLABELED, "training loss")):
            if mean[name].notna().any():
                ax.fill_between(mean.index, low[name], high[name], color=color, alpha=0.2, lw=0)
                ax.plot(mean.index, mean[name], color=color, marker=marker, ms=4, label=text)
        title = "How the estimate settled"
        ax.set(
            xlabel="epoch or round", ylabel="α̂, and the training loss", title=title, ylim=(0, None)
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(colors=CHOSEN)
