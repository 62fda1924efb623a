"""Which backend a classifier's `estimator` means, and how a net is trained, as a value."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from topbin.core.checks import check_count
from topbin.core.errors import InputError
from topbin.learn.crossfit import Plan
from topbin.learn.defaults import preset_plan
from topbin.learn.risk import Learner

FEW_ROWS = 10_000  # up to here, a fifth of the rows is too few to read α from


@dataclass(frozen=True, slots=True)
class NetPlan:
    """Epochs at most, warm-start epochs of (TED)ⁿ, and how the net is trained.

    What is None is as the net has it in `topbin.learn.NETS`: 200 epochs in batches of 200, or, for
    the fast net, 10 epochs of warm start and 6 more. A warm start of no fixed length ends once PvU
    has run twice as long as it took to reach its lowest risk on held-out rows, or after half of
    `epochs`; the paper uses a number, `warm=100` for tables. `optim` is a `topbin.learn.Optim`.
    `augment` maps a batch of images to an altered one.

    With several `nets` each holds out another part of the rows, so that α is read from all rows,
    and their mean logit scores new ones. There are three fast nets if α is to be estimated from at
    most 10,000 rows; a single one takes a third of the time, and holds out the share `holdout`.

    `checkpoint` is a folder that keeps the net after every epoch, one file per fit: a fit that was
    killed continues from there when it is called again with the same rows and parameters.
    """

    epochs: int | None = None
    warm: int | None = None
    batch: int | None = None
    holdout: float = 0.2
    device: str = "auto"
    optim: Any = None
    augment: Callable[[Any], Any] | None = None
    checkpoint: str | None = None
    nets: int | None = None

    def turns(self, learner: Learner, net: Any, rows: int) -> int:
        """How many nets of this kind, a row of NETS, take turns in holding out some of the rows."""
        if self.nets is not None:
            return check_count(self.nets, "nets")
        return int(net.nets) if learner.estimates_alpha and rows <= FEW_ROWS else 1

    def phases(self, learner: Learner, net: Any) -> tuple[int, int]:
        """Warm-start epochs before this learner, at most, and its own; `net` is a row of NETS."""
        two = learner.estimates_alpha or (learner.discard and net.warm is not None)
        usual = net.epochs if two or net.warm is None else net.warm
        epochs = usual if self.epochs is None else self.epochs
        fixed = net.warm if self.warm is None else self.warm
        return (epochs // 2 if fixed is None else fixed) if two else 0, epochs


def is_net(estimator: Any) -> bool:
    """Whether this is a net (a module or a name) rather than a scikit-learn classifier."""
    torch = sys.modules.get("torch")
    if isinstance(estimator, str) or (torch and isinstance(estimator, torch.nn.Module)):
        return True
    scores = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
    usable = hasattr(estimator, "fit") and scores and not isinstance(estimator, type)
    if not usable and estimator is not None:
        raise InputError(
            "TB013",
            f"estimator must be a scikit-learn classifier with predict_proba or "
            f"decision_function, an nn.Module or the name of a net; got {estimator!r}.",
        )
    return False


def check_plan(plan: Any, preset: str, *, net: bool) -> Any:
    """The plan given, or that of the preset; a plan of the other backend is refused."""
    kind = NetPlan if net else Plan
    if plan is not None and not isinstance(plan, kind):
        raise InputError(
            "TB008", f"plan must be a {kind.__name__} or None for this estimator; got {plan!r}."
        )
    named = preset_plan(preset)
    if net and named is not None:
        raise InputError(
            "TB008",
            f"preset is for scikit-learn models; got {preset!r} with a net. Use plan=NetPlan(...).",
        )
    return plan or named
