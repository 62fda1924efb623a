"""From a net's output to one logit per row, and from logits to the three mean losses of a risk."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.learn.risk import Loss

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
else:
    torch = require("torch", extra="torch", caller="the torch backend")
    nn = torch.nn

# Loss of a margin: the logit for L⁺, minus the logit for L⁻.
LOSSES: dict[Loss, Callable[["Tensor"], "Tensor"]] = {
    "logistic": lambda margin: -nn.functional.logsigmoid(margin),
    "sigmoid": lambda margin: torch.sigmoid(-margin),
}


def mean_losses(
    z_p: "Tensor", z_u: "Tensor", loss: Loss, weights: "tuple[Tensor, Tensor] | None" = None
) -> tuple["Tensor", "Tensor", "Tensor"]:
    """L⁺(P), L⁻(P) and L⁻(U) of a mini-batch of logits, in the order that Risk takes them.

    `weights` multiply the losses of the rows of P and of U.
    """
    of = LOSSES[loss]
    terms = of(z_p), of(-z_p), of(-z_u)
    if weights is not None:
        w_p, w_u = weights
        terms = terms[0] * w_p, terms[1] * w_p, terms[2] * w_u
    return terms[0].mean(), terms[1].mean(), terms[2].mean()


def logit_of(out: Any, n: int) -> "Tensor":
    """One logit per row from a net's output: two columns (negative, positive), or one.

    Cross-entropy on two outputs is the logistic loss of their difference.

    >>> logit_of(torch.tensor([[1.0, 3.0], [0.0, 0.5]]), 2)
    tensor([2.0000, 0.5000])
    """
    shape = tuple(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
    if shape == (n, 2):
        logits: Tensor = out[:, 1] - out[:, 0]
        return logits
    if shape in ((n,), (n, 1)):
        logits = out.reshape(n)
        return logits
    raise InputError(
        "TB013",
        f"the net gives {shape} for {n} rows. It must give one logit per row, shape (n,) or "
        "(n, 1), or two outputs per row, (negative, positive).",
    )
