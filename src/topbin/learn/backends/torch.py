"""The torch backend: any nn.Module, trained by the loop with the paper's optimizer settings.

Garg et al. 2021, appendix: batches of 200 P and 200 U, and the settings in `topbin.learn.nets`.
Rows are arrays, tensors, tuples of tensors or Datasets, read by row number. Data in memory stays
one tensor and a batch is one indexing call; only a Dataset is read row by row.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from math import ceil, isfinite, prod
from typing import Any

import numpy as np

from topbin.core.checks import RowNumbers, Scores, check_count, look_up, refuse_nan
from topbin.core.errors import InputError
from topbin.data.images import Images
from topbin.learn.backends.distributed import ALONE, Team
from topbin.learn.loop import EpochLoss
from topbin.learn.nets import NETS, Dataset, Net, Optim, Tensor, build_net, default_optim, nn, torch
from topbin.learn.risk import Learner, Loss, Risk
from topbin.learn.rows import n_rows

SCORED_AT_ONCE = 1000
IMAGES_AT_ONCE = 250  # of those on the disk; as many train at once, so this takes no more memory
MOST_VALUES = 10**7  # in the rows that are scored at once, or that a net is prepared with
SMALL = 1_000_000  # parameters; below it a second thread costs more time than it saves
# Loss of a margin: the logit for L⁺, minus the logit for L⁻.
LOSSES: dict[Loss, Callable[[Tensor], Tensor]] = {
    "logistic": lambda margin: -nn.functional.logsigmoid(margin),
    "sigmoid": lambda margin: torch.sigmoid(-margin),
}


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """All that the next epoch depends on: weights, optimizer, random numbers, epochs done."""

    net: dict[str, Tensor]
    optimizer: dict[str, Any]
    rng: Tensor
    epochs: int = 0


class TorchBackend:
    """A net that the loop can train: `scores` without randomness, `epoch` by mini-batches.

    Parameters
    ----------
    net, optim
        A net, of which a copy is trained, and its optimizer. It takes batches of rows (one tensor,
        or the parts of a tuple or dict as arguments) and gives two outputs per row (negative,
        positive) or one logit.
    batch
        Rows of P, and of U, in a mini-batch.
    augment, mirror
        A function that alters a batch, and whether each image is mirrored in every other epoch.
    seed
        Decides the mini-batches and all other random numbers.
    device, threads
        Where to compute, on "cuda" in mixed precision, and by how many threads (0: all).
    team
        Processes that train together; None: this one alone.
    weights
        Of the rows of P and of U; they multiply the losses.
    phases
        The epochs of each phase, which an optimizer with `peaks` must know.

    Attributes
    ----------
    net, optim, optimizer
        The copy, its settings, and torch's optimizer.
    row_shape, epochs
        The shape of a row, once one was seen, and how many epochs are done.

    >>> import numpy as np
    >>> TorchBackend(build_net("uci-mlp", (8,)), Optim()).scores(np.zeros((3, 8))).shape
    (3,)
    """

    def __init__(
        self,
        net: nn.Module,
        optim: Optim,
        *,
        batch: int = 200,
        augment: Callable[[Tensor], Tensor] | None = None,
        seed: int = 0,
        device: str = "auto",
        threads: int | None = None,
        team: Team | None = None,
        weights: tuple[Any, Any] | None = None,
        phases: tuple[int, ...] = (),
        mirror: bool = False,
    ) -> None:
        self.device = find_device(device)
        self.team, self.weights = team or ALONE, weights
        self.augment, self.mirror = augment, mirror
        self.net = deepcopy(net).to(self.device)
        self.team.from_first(self.net.state_dict().values())
        self.optim = optim
        self.optimizer = optim.build(self.net, self.device)
        self.lrs = [group["lr"] for group in self.optimizer.param_groups]
        self.batch = check_count(batch, "batch")
        self.mixed = self.device.type == "cuda"
        self.threads = _few_threads(self.net) if threads is None else threads
        self.rng = torch.Generator().manual_seed(seed).get_state()
        self.row_shape: tuple[int, ...] | None = None
        self.phases = phases if optim.peaks else ()
        self.epochs = 0

    def scores(self, X: Any) -> Scores:
        """One logit per row, in evaluation mode and without augmentation."""
        X = self._rows(X, "X")
        self.net.eval()
        with threads(self.threads), torch.inference_mode():
            parts = torch.split(self.team.share(torch.arange(n_rows(X))), self._at_once(X))
            logits = [self._logits(take(X, rows, "X"), rows.numel()) for rows in parts]
            whole = self.team.whole(torch.cat(logits), n_rows(X))
        return refuse_nan(whole.to(self._dtype()).cpu().numpy(), self.net)

    def epoch(self, X_p: Any, X_u: Any, risk: Risk, kept: RowNumbers | None = None) -> EpochLoss:
        """Shuffle P and the kept U into mini-batches and step down the risk of each.

        If anything stops the epoch (a loss that is not finite, an error, an interrupt), the net,
        the optimizer and the random numbers are as they were before it.
        """
        X_p, X_u = self._rows(X_p, "X_p"), self._rows(X_u, "X_u")
        before, good = self.state(), False
        try:
            with threads(self.threads), self._randomness():
                self.net.train()
                rows_u = torch.arange(n_rows(X_u)) if kept is None else torch.from_numpy(kept)
                self.team.check_same(n_p=n_rows(X_p), n_u=rows_u.numel())
                dealt = deal(n_rows(X_p), rows_u.numel(), self.batch)
                batches = [(part_p, rows_u[part_u]) for part_p, part_u in dealt]
                with self.team.own_randomness():
                    result = self._train(X_p, X_u, batches, risk)
                self.team.from_first(self.net.buffers())
            finite = all(bool(torch.isfinite(p).all()) for p in self.net.parameters())
            good = isfinite(result.loss) and finite
            self.epochs += 1
            return result if good else EpochLoss(float("nan"), result.training_error)
        finally:
            if not good:
                self.restore(before)

    def _train(
        self, X_p: Any, X_u: Any, batches: list[tuple[Tensor, Tensor]], risk: Risk
    ) -> EpochLoss:
        loss, wrong_p, wrong_u = torch.zeros(3, dtype=torch.float64, device=self.device)
        seen_p = seen_u = 0
        for step, (rows_p, rows_u) in enumerate(batches):
            self._set_rates(self.epochs + step / len(batches))
            self.optimizer.zero_grad()
            z_p, z_u = self._pair(X_p, rows_p, X_u, rows_u)
            terms = mean_losses(z_p, z_u, risk.loss, self._weights_of(rows_p, rows_u))
            risk.descent(*terms).backward()
            loss += risk.value(*terms).detach()
            wrong_p += (z_p <= 0).sum()
            wrong_u += (z_u > 0).sum()
            seen_p, seen_u = seen_p + rows_p.numel(), seen_u + rows_u.numel()
            self.team.add_gradients(self.net)
            self.optimizer.step()
        return EpochLoss(float(loss) / len(batches), float(wrong_p / seen_p + wrong_u / seen_u))

    def _set_rates(self, done: float) -> None:
        share = self.optim.rate(done, self.phases)
        for group, lr in zip(self.optimizer.param_groups, self.lrs, strict=True):
            group["lr"] = share * lr

    def _weights_of(self, rows_p: Tensor, rows_u: Tensor) -> tuple[Tensor, Tensor] | None:
        if self.weights is None:
            return None
        w_p, w_u = (torch.as_tensor(w, dtype=self._dtype()) for w in self.weights)
        return w_p[rows_p].to(self.device), w_u[rows_u].to(self.device)

    def _pair(self, X_p: Any, rows_p: Tensor, X_u: Any, rows_u: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of a mini-batch; P and U go through the net together, as batch norm needs."""
        own_p, own_u = self.team.share(rows_p), self.team.share(rows_u)
        both = join(take(X_p, own_p, "X_p"), take(X_u, own_u, "X_u"))
        if self.mirror:
            turned = (torch.cat([own_p, own_u]) + self.epochs) % 2 == 1
            both = torch.where(turned.to(both.device)[:, None, None, None], both.flip(-1), both)
        z = self._logits(both, own_p.numel() + own_u.numel(), augment=self.augment)
        z_p, z_u = z.tensor_split([own_p.numel()])
        return self.team.whole(z_p, rows_p.numel()), self.team.whole(z_u, rows_u.numel())

    def _logits(
        self, batch: Any, n: int, *, augment: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        batch = place(batch, self.device, self._dtype())
        if augment is not None:
            batch = augment(batch)
        named = batch if isinstance(batch, dict) else {}
        parts = batch if isinstance(batch, tuple) else () if isinstance(batch, dict) else (batch,)
        try:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed):
                out = self.net(*parts, **named)
        except (RuntimeError, TypeError) as error:
            raise InputError(
                "TB013", f"the net does not take these rows: {error}. Check the shape of a row."
            ) from error
        return logit_of(getattr(out, "logits", out), n).to(self._dtype())

    def _rows(self, X: Any, name: str) -> Any:
        rows = as_rows(X, name)
        shape = row_shape(rows)
        if self.row_shape is not None and shape is not None and shape != self.row_shape:
            raise InputError(
                "TB005", f"a row of {name} has shape {shape}; the net has seen {self.row_shape}."
            )
        self.row_shape = shape or self.row_shape
        return rows

    def state(self) -> State:
        """A copy of weights, optimizer and random numbers, to go back to."""
        net = {name: value.clone() for name, value in self.net.state_dict().items()}
        return State(net, deepcopy(self.optimizer.state_dict()), self.rng.clone(), self.epochs)

    def restore(self, state: State) -> None:
        """Go back to a state; it is copied, so it can be gone back to again."""
        self.net.load_state_dict(state.net)
        self.optimizer.load_state_dict(deepcopy(state.optimizer))
        self.rng, self.epochs = state.rng.clone(), state.epochs

    def _at_once(self, X: Any) -> int:
        """So many rows are scored at once: fewer of large images, because of memory."""
        most = IMAGES_AT_ONCE if isinstance(X, Images) else SCORED_AT_ONCE
        return min(most, max(50, MOST_VALUES // max(1, prod(self.row_shape or ()))))

    def _dtype(self) -> torch.dtype:
        floats = (p.dtype for p in self.net.parameters() if p.is_floating_point())
        return next(floats, torch.float32)

    @contextmanager
    def _randomness(self) -> Iterator[None]:
        """Draw from this model's own stream; the caller's random state is left alone."""
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda):
            torch.set_rng_state(self.rng)
            if self.device.type != "cpu":
                getattr(torch, self.device.type).manual_seed(int(torch.randint(2**62, ())))
            yield
            self.rng = torch.get_rng_state()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads of torch; 0: as many as there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def torch_backend(
    learner: Learner,
    X: Any,
    *,
    X_u: Any = None,
    net: str | nn.Module = "auto",
    optim: Optim | None = None,
    augment: Callable[[Tensor], Tensor] | None = None,
    batch: int | None = None,
    seed: int = 0,
    device: str = "auto",
    team: Team | None = None,
    weights: tuple[Any, Any] | None = None,
    phases: tuple[int, ...] = (),
) -> TorchBackend:
    """A backend for a learner, with a net for rows like those of X and the net's own settings.

    Parameters
    ----------
    learner, X, X_u
        The learner, and rows of P and of U. A net that is prepared sees some of both.
    net
        A module, a name in `NETS`, or "auto": the 512-512 net for tables, the fast net for images
        (channels first), and the 5000-5000-50 net for anything else.
    optim, augment, batch
        If not those of the net.
    seed
        Decides initial weights and batches.
    device, team, weights, phases
        As in `TorchBackend`.

    Returns
    -------
    TorchBackend
        A net that `train` can train.

    >>> from topbin.learn import find_learner
    >>> model = torch_backend(find_learner("pvu"), torch.zeros(6, 3))
    >>> model.scores(torch.zeros(2, 3)).shape
    (2,)
    """
    name, kind = None, kind_of(net, X)
    if isinstance(net, str):
        shape = row_shape(as_rows(X, "X"))
        if shape is None:
            raise InputError(
                "TB013", "rows of a Dataset or a tuple have no single shape; pass a module as net=."
            )
        name = name_for(net, shape)
        net = build_net(name, shape, seed=seed)
        if kind.prepare is not None and X_u is not None:
            most = max(50, MOST_VALUES // (1 + 2 * prod(shape)))
            some = join(*(_spread(as_rows(rows, "X"), most) for rows in (X, X_u)))
            kind.prepare(net, place(some, torch.device("cpu"), torch.float32))
    mirror = kind.mirror and augment is None and getattr(net, "mirror", True)
    return TorchBackend(
        net, optim or default_optim(learner.loss, name), batch=kind.batch if batch is None else
        batch, augment=augment or kind.augment, mirror=bool(mirror), seed=seed,
        device=device, team=team, weights=weights, phases=phases,
    )  # fmt: skip


def _spread(X: Any, most: int) -> Any:
    """At most so many rows, spread evenly over all of them."""
    rows = torch.linspace(0, len(X) - 1, min(most, len(X)), dtype=torch.float64).long()
    return take(X, rows, "X")


def name_for(net: str, shape: tuple[int, ...]) -> str:
    """The name of the net that "auto" means."""
    return {1: "uci-mlp", 3: "fast"}.get(len(shape), "mlp") if net == "auto" else net


def kind_of(net: str | nn.Module, X: Any) -> Net:
    """The row of `NETS` that a name means for rows like those of X; a user's net has the usual."""
    if not isinstance(net, str):
        return Net(type(net), lr=1e-4)
    return look_up(name_for(net, tuple(getattr(X, "shape", ()))[1:]), NETS, "net")


def find_device(name: str = "auto") -> torch.device:
    """The device of this name; "auto" takes cuda, then mps, then cpu."""
    if name == "auto":
        mps = torch.backends.mps.is_available()
        name = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError("TB008", f"device {name!r} cannot be used: {error}") from error
    return device


def _few_threads(net: nn.Module) -> int:
    """1 for a small net without convolutions, else 0: leave the threads as they are."""
    sizes = [(p.numel(), p.ndim) for p in net.parameters()]
    small = sum(n for n, _ in sizes) < SMALL and all(ndim <= 2 for _, ndim in sizes)
    return int(small)


def mean_losses(
    z_p: Tensor, z_u: Tensor, loss: Loss, weights: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """L⁺(P), L⁻(P) and L⁻(U) of a mini-batch of logits, in the order that Risk takes them.

    Parameters
    ----------
    z_p, z_u
        Logits of the rows of P and of U.
    loss
        "logistic" or "sigmoid".
    weights
        Multiply the losses of the rows of P and of U.

    Returns
    -------
    tuple of Tensor
        The three means.

    >>> [float(loss) for loss in mean_losses(torch.zeros(2), torch.zeros(3), "sigmoid")]
    [0.5, 0.5, 0.5]
    """
    of = LOSSES[loss]
    w_p, w_u = weights or (1, 1)
    return (of(z_p) * w_p).mean(), (of(-z_p) * w_p).mean(), (of(-z_u) * w_u).mean()


def logit_of(out: Any, n: int) -> Tensor:
    """One logit per row from a net's output: two columns (negative, positive), or one.

    Cross-entropy on two outputs is the logistic loss of their difference.

    Parameters
    ----------
    out, n
        What the net gives for n rows.

    Returns
    -------
    Tensor
        One logit per row.

    >>> logit_of(torch.tensor([[1.0, 3.0], [0.0, 0.5]]), 2)
    tensor([2.0000, 0.5000])
    """
    shape = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
    if shape not in ((n, 2), (n,), (n, 1)):
        raise InputError(
            "TB013",
            f"the net gives {shape} for {n} rows. It must give one logit per row, shape (n,) or "
            "(n, 1), or two outputs per row, (negative, positive).",
        )
    logits: Tensor = out[:, 1] - out[:, 0] if shape == (n, 2) else out.reshape(n)
    return logits


def as_rows(X: Any, name: str) -> Any:
    """A tensor, tuple of tensors or Dataset; numbers are checked, and copied only if needed."""
    if isinstance(X, tuple):
        return tuple(as_rows(part, name) for part in X)
    if isinstance(X, Dataset | Images):
        return X
    rows = X if isinstance(X, Tensor) else _from_array(X, name)
    if rows.ndim == 0:
        raise InputError("TB005", f"{name} is a single value; pass one row per sample.")
    if rows.is_floating_point() and not bool(torch.isfinite(rows).all()):
        bad = int((~torch.isfinite(rows)).reshape(len(rows), -1).any(1).sum())
        raise InputError(
            "TB004",
            f"{name} has {bad:,} of {len(rows):,} rows with NaN or infinite values. "
            "Fill them in or drop these rows; a net cannot take them.",
        )
    return rows


def _from_array(X: Any, name: str) -> Tensor:
    if hasattr(X, "toarray"):
        raise InputError("TB006", f"{name} is sparse and a net takes dense rows; use X.toarray().")
    array = np.asarray(X)
    if array.dtype == np.uint8 and array.ndim >= 3:
        return torch.from_numpy(np.asarray(array, order="C"))  # images stay small until batched
    if array.dtype.kind not in "fiub":
        raise InputError("TB006", f"{name} must be numbers; got dtype {array.dtype}.")
    dtype = np.float64 if array.dtype == np.float64 else np.float32
    return torch.from_numpy(np.asarray(array, dtype, order="C"))


def row_shape(X: Any) -> tuple[int, ...] | None:
    """The shape of one row of a tensor; tuples and Datasets have no single one."""
    if isinstance(X, Images):
        return X.row_shape
    return tuple(X.shape[1:]) if isinstance(X, Tensor) else None


def take(X: Any, rows: Tensor, name: str) -> Any:
    """The batch of these rows: a tensor, or a tuple or dict of tensors, as the net takes it."""
    if isinstance(X, Tensor):
        return X[rows.to(X.device)]
    if isinstance(X, Images):
        return torch.from_numpy(X.read(rows.numpy()))
    if isinstance(X, tuple):
        return tuple(take(part, rows, name) for part in X)
    return torch.utils.data.default_collate([_item(X, row, name) for row in rows.tolist()])


def _item(X: Any, row: int, name: str) -> Any:
    try:
        item = X[row]
    except MemoryError:
        raise
    except Exception as error:  # whatever the user's own code raises
        raise InputError(
            "TB016",
            f"the Dataset {name} raised {type(error).__name__} for row {row} of {len(X):,}: "
            f"{error}. Fix or remove that row; the model is as it was before this epoch.",
        ) from error
    return tuple(item) if isinstance(item, list) else item


def join(first: Any, second: Any) -> Any:
    """Two batches of one kind as one, the first's rows in front."""
    return _each(lambda *parts: torch.cat(parts), first, second)


def place(batch: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """The batch on the net's device, real numbers in its type, bytes of images as 0 to 1.

    Integers other than bytes are left alone: they are token ids.
    """

    def moved(part: Tensor) -> Tensor:
        part = part.to(device)
        if part.dtype == torch.uint8:
            return part.to(dtype) / 255
        return part.to(dtype) if part.is_floating_point() else part

    return _each(moved, batch)


def _each(change: Callable[..., Tensor], *batches: Any) -> Any:
    """Batches of one kind, changed tensor by tensor."""
    if isinstance(batches[0], dict):
        return {key: _each(change, *(batch[key] for batch in batches)) for key in batches[0]}
    if isinstance(batches[0], list | tuple):
        return tuple(_each(change, *parts) for parts in zip(*batches, strict=True))
    return change(*batches)


def deal(n_p: int, n_u: int, batch: int) -> list[tuple[Tensor, Tensor]]:
    """Shuffle row numbers of P and of U into mini-batches with at most `batch` of each.

    Both are divided evenly, so the shorter one has fewer rows in each mini-batch, as in the paper;
    if these are less than a tenth of `batch`, its rows are used more than once.

    >>> [(len(p), len(u)) for p, u in deal(400, 600, batch=200)]
    [(134, 200), (133, 200), (133, 200)]
    """
    parts = ceil(max(n_p, n_u) / batch)
    least = max(1, batch // 10)
    return list(zip(_shuffled(n_p, parts, least), _shuffled(n_u, parts, least), strict=True))


def _shuffled(n: int, parts: int, least: int) -> tuple[Tensor, ...]:
    rounds = ceil(parts * min(least, n) / n)
    return torch.cat([torch.randperm(n) for _ in range(rounds)]).tensor_split(parts)
