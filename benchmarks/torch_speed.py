"""What a (TED)ⁿ epoch costs beside a PvU epoch, and index batching beside a DataLoader.

    python benchmarks/torch_speed.py

Ratios within one run, the two sides taking turns; the median over the turns is reported. Every
(TED)ⁿ epoch includes ranking all of U, BBE on a hold-out of a quarter as many rows, and the
selection; the PvU epoch has none of these. One thread throughout, so CPU time is what one waits for
on a quiet machine.
"""

from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from topbin.learn import LEARNERS, train
from topbin.learn.backends.losses import logit_of, mean_losses
from topbin.learn.backends.optim import Optim
from topbin.learn.backends.tensors import deal, join, take
from topbin.learn.backends.torch import TorchBackend
from topbin.learn.nets import build_net, resnet18

RESULTS = Path(__file__).parent / "results" / "torch_speed.md"
BATCH = 200


def samples(n: int, shape: tuple[int, ...], alpha: float) -> list[np.ndarray]:
    """P, U and a hold-out of each, far enough apart that α̂ is near α from the first epoch."""
    rng = np.random.default_rng(0)
    shift = 8 / np.sqrt(np.prod(shape))
    parts = []
    for rows in (n, n // 4):
        positive = rng.random(rows) < alpha
        middle = np.where(positive, shift, -shift).reshape(-1, *[1] * len(shape))
        parts.append((rng.normal(size=(rows, *shape)) + shift).astype(np.float32))
        parts.append((rng.normal(size=(rows, *shape)) + middle).astype(np.float32))
    return parts


def seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def median_ratio(
    ours: Callable[[], object], floor: Callable[[], object], turns: int
) -> list[float]:
    """Median seconds of each side, and of ours : floor, turn by turn."""
    ours(), floor()
    pairs = np.array([(seconds(ours), seconds(floor)) for _ in range(turns)])
    return [*np.median(pairs, 0), float(np.median(pairs[:, 0] / pairs[:, 1]))]


def tedn_against_pvu(net: torch.nn.Module, n: int, shape: tuple, alpha: float, turns: int) -> str:
    X_p, X_u, held_p, held_u = samples(n, shape, alpha)

    def epochs(name: str, holdout: tuple | None) -> Callable[[], object]:
        model = TorchBackend(net, Optim(lr=0.01), threads=1)
        warm = 10 if name == "tedn" else 0
        run = train(model, LEARNERS[name], X_p, X_u, holdout=holdout, warm_start=warm, epochs=10**6)
        for _ in range(warm):
            next(run)
        return lambda: next(run)

    tedn, pvu = epochs("tedn", (held_p, held_u)), epochs("pvu", None)
    kept = tedn().n_kept / n
    ours, floor, ratio = median_ratio(tedn, pvu, turns)
    return f"{n:,} | {alpha} | {kept:.2f} | {1000 * ours:.1f} | {1000 * floor:.1f} | {ratio:.2f}"


class LoaderEpoch:
    """A PvU epoch of the same net and optimiser, fed by two default DataLoaders."""

    def __init__(self, X_p: np.ndarray, X_u: np.ndarray) -> None:
        self.net = build_net("uci-mlp", X_p.shape[1:])
        self.optimizer = Optim().build(self.net, torch.device("cpu"))
        self.loaders = [
            DataLoader(TensorDataset(torch.from_numpy(X)), batch_size=BATCH, shuffle=True)
            for X in (X_p, X_u)
        ]

    def feed(self) -> None:
        for (p,), (u,) in zip(*self.loaders, strict=True):
            torch.cat([p, u])

    def train(self) -> None:
        risk = LEARNERS["pvu"].at(None)
        for (p,), (u,) in zip(*self.loaders, strict=True):
            self.optimizer.zero_grad()
            z = logit_of(self.net(torch.cat([p, u])), len(p) + len(u))
            risk.descent(*mean_losses(z[: len(p)], z[len(p) :], "logistic")).backward()
            self.optimizer.step()


def feed_by_index(X_p: torch.Tensor, X_u: torch.Tensor) -> None:
    for rows_p, rows_u in deal(len(X_p), len(X_u), BATCH):
        join(take(X_p, rows_p, "X_p"), take(X_u, rows_u, "X_u"))


def main() -> None:
    torch.set_num_threads(1)
    out = ["## A (TED)ⁿ epoch : a PvU epoch", "", "target ≤ 1.15", ""]
    out += ["| net | rows of P = U | α | kept | (TED)ⁿ ms | PvU ms | ratio |", "|" + "---|" * 7]
    uci, mnist = build_net("uci-mlp", (57,)), build_net("mlp", (784,))
    narrow = resnet18((3, 32, 32), width=16)
    for name, net, n, shape, turns in (
        ("UCI MLP 512-512", uci, 2000, (57,), 31),
        ("MLP 5000-5000-50", mnist, 1000, (784,), 5),
        ("ResNet-18, width 16", narrow, 400, (3, 32, 32), 5),
    ):
        for alpha in (0.5, 0.1):
            out.append(f"| {name} | {tedn_against_pvu(net, n, shape, alpha, turns)} |")
            print(out[-1], flush=True)
    X_p, X_u, *_ = samples(2000, (57,), 0.5)
    loader, model = LoaderEpoch(X_p, X_u), TorchBackend(uci, Optim(), threads=1)
    rows = [torch.from_numpy(X) for X in (X_p, X_u)]
    out += ["", "## Index batching : a default DataLoader (UCI MLP, 2,000 + 2,000 rows × 57)", ""]
    out += ["| what | DataLoader ms | index ms | DataLoader : index |", "|---|---|---|---|"]
    risk = LEARNERS["pvu"].at(None)
    for what, theirs, ours in (
        ("making the batches of an epoch", loader.feed, lambda: feed_by_index(*rows)),
        ("a whole epoch of training", loader.train, lambda: model.epoch(X_p, X_u, risk)),
    ):
        slow, fast, ratio = median_ratio(theirs, ours, 31)
        out.append(f"| {what} | {1000 * slow:.1f} | {1000 * fast:.1f} | {ratio:.2f} |")
        print(out[-1], flush=True)
    head = [
        "# Torch backend: costs as ratios",
        "",
        f"`python benchmarks/torch_speed.py`, torch {torch.__version__}, 1 thread, CPU time,",
        "2-core Xeon 2.8 GHz, no GPU, 2026-11-16.",
        "",
    ]
    RESULTS.write_text("\n".join([*head, *out, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
