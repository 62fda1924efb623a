"""The fast net on CIFAR-10: accuracy and error of α̂ on fresh splits, and images per second.

    python bench/scripts/fast_net.py run cifar_dog_cat tedn 0 1 2 3 4    # splits, one file each
    python bench/scripts/fast_net.py speed
    python bench/scripts/fast_net.py page                                # bench/results/fast_net.md

A run that was stopped continues with the first split that has no file. Every file holds the scores
of the hold-out after every epoch and those of the test set after the warm start (which is PvU) and
after the last epochs, so ways to read α are compared without training again. The splits from 0 on
are the ones reported; those from 100 on are for choosing, by PvU's risk on held-out rows, which
needs no true label.
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
import torch
from report import RESULTS, cpu_seconds, head, save, table

from topbin import estimate_alpha
from topbin.learn import (
    LEARNERS,
    NETS,
    NetPlan,
    TorchBackend,
    build_net,
    default_optim,
    fit_posterior,
    train,
)
from topbin_bench.tasks import TASKS

FOLDER = RESULTS / "fast_net"
ALPHA = 0.5
LAST = 6  # epochs whose test scores are kept
KEPT = 2  # which way to read a training the classifier uses
NOTES = """
"""


def file_of(task: str, method: str, split: int, net: str, batch: int, lr: float) -> Path:
    other = f"-{batch}-{lr}" if batch or lr else ""
    return FOLDER / f"{task}-{method}-{net}{other}-{split}.npz"


def train_one(task: str, method: str, split: int, net: str, batch: int, lr: float) -> None:
    """One training, its scores written to a file; nothing if the file is there."""
    path = file_of(task, method, split, net, batch, lr)
    if path.exists():
        return
    data, truth = TASKS[task].split(ALPHA, split)
    learner, kind = LEARNERS[method], NETS[net]
    started = process_time()
    warm, epochs = NetPlan().phases(learner, kind)
    shown = torch.from_numpy(np.concatenate([data.X_p[:1500], data.X_u[:1500]]))
    built = build_net(net, data.X_p.shape[1:], seed=split)
    kind.prepare(built, shown.float() / 255)
    optim = default_optim(learner.loss, net)
    optim = replace(optim, lr=lr or optim.lr)
    model = TorchBackend(
        built, optim, batch=batch or kind.batch, augment=kind.augment, mirror=kind.mirror,
        phases=(warm, epochs) if warm else (epochs,), seed=split, threads=1, device="cpu",
    )  # fmt: skip
    kept = []

    def recorded(evidence):
        kept.append(evidence)
        return estimate_alpha(evidence, method="bbe", confidence=None)

    run = train(
        model, learner, data.X_p, data.X_u, alpha=ALPHA if learner.needs_alpha else None,
        holdout=data.holdout, epochs=epochs, warm_start=warm, estimator=recorded,
    )  # fmt: skip
    history, tests, scoring = [], [], 0.0
    for epoch in run:
        history.append(epoch)
        spent = process_time() - started
        print(epoch.epoch, epoch.phase, epoch.held_risk, epoch.estimate.alpha, spent, flush=True)
        if epoch.epoch == warm or epoch.epoch > warm + epochs - LAST:
            before = process_time()
            tests.append(model.scores(truth.X_test))
            scoring += process_time() - before
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(
        path,
        held_p=np.stack([each.scores[0] for each in kept[-len(history):]]),
        held_u=np.stack([each.scores[1] for each in kept[-len(history):]]),
        alphas=[epoch.estimate.alpha for epoch in history],
        risks=[np.nan if epoch.held_risk is None else epoch.held_risk for epoch in history],
        tests=np.stack(tests), y_test=truth.y_test, cpu=process_time() - started - scoring,
    )  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """One way to read a training: α̂ and the accuracy of the labels that follow from it."""

    alpha: float
    accuracy: float
    at_quantile: float

    @property
    def error(self) -> float:
        return abs(self.alpha - ALPHA)


def bbe(scores_p: np.ndarray, scores_u: np.ndarray) -> float:
    return estimate_alpha(scores_p, scores_u, confidence=None).alpha


def read(alpha: float, held_p: np.ndarray, held_u: np.ndarray, test: np.ndarray, y: np.ndarray):
    """The labels of the posterior, as the classifiers give them, and of the cut at the quantile."""
    called = fit_posterior(held_p, held_u, alpha)(test) > 0.5
    top = test > np.quantile(held_u, 1 - alpha)
    return Reading(alpha, float((called == y).mean()), float((top == y).mean()))


def readings(path: Path, last: int) -> dict[str, Reading]:
    """Ways to read one (TED)ⁿ training; the warm start alone is PvU."""
    with np.load(path) as kept:
        p, u, tests, y = (kept[name] for name in ("held_p", "held_u", "tests", "y_test"))
        alphas = kept["alphas"]
    warm = len(alphas) - LAST - 1
    mean_p, mean_u, mean_test = (part[-last:].mean(0) for part in (p, u, tests))
    final = p[-1], u[-1], tests[-1], y
    return {
        "PvU (the warm start)": read(alphas[warm], p[warm], u[warm], tests[0], y),
        "(TED)ⁿ, α̂ of the last epoch": read(alphas[-1], *final),
        f"(TED)ⁿ, mean α̂ of the last {last} epochs": read(alphas[-last:].mean(), *final),
        f"(TED)ⁿ, BBE on scores averaged over {last}": read(bbe(mean_p, mean_u), *final),
        "the same, and averaged scores classify": read(
            bbe(mean_p, mean_u), mean_p, mean_u, mean_test, y
        ),
    }


def speed() -> None:
    """Images per second, forward and backward, one thread; the nets take turns."""
    nets = {"fast": 250, "fast-medium": 100, "fast-large": 50, "allconv": 25, "resnet18": 25}
    images = torch.rand(250, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    built = {name: build_net(name, (3, 32, 32)).to(memory_format=torch.channels_last)
             for name in nets}  # fmt: skip
    rates: dict[str, list[float]] = {name: [] for name in nets}
    for turn in range(4):
        for name, net in built.items():
            batch = images[: nets[name]]
            seconds = cpu_seconds(lambda net=net, batch=batch: net(batch).sum().backward())
            if turn:  # the first turn warms up
                rates[name].append(len(batch) / seconds)
    FOLDER.mkdir(exist_ok=True)
    found = {name: float(np.median(each)) for name, each in rates.items()}
    (FOLDER / "speed.json").write_text(json.dumps(found))
    print(found)


def files(task: str, method: str) -> list[Path]:
    """The trainings of the reported splits with the net's own settings, in order."""
    found = [(split, file_of(task, method, split, "fast", 0, 0.0)) for split in range(100)]
    return [path for _, path in found if path.exists()]


def percent(values: list[float]) -> str:
    spread = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{spread}"


def tedn_tables(task: str, last: int) -> str:
    """Each way to read (TED)ⁿ over all splits, then what the classifier does, split by split."""
    paths = files(task, "tedn")
    if not paths:
        return ""
    all_read = [readings(path, last) for path in paths]
    means = [
        [name, percent([each[name].accuracy for each in all_read]),
         percent([each[name].at_quantile for each in all_read]),
         f"{np.mean([each[name].error for each in all_read]):.3f}",
         f"{np.mean([each[name].alpha - ALPHA for each in all_read]):+.3f}"]
        for name in all_read[0]
    ]  # fmt: skip
    cpu = [float(np.load(path)["cpu"]) for path in paths]
    kept = [list(each.values())[KEPT] for each in all_read]
    single = [
        [path.stem.rsplit("-", 1)[1], f"{100 * each.accuracy:.1f}", f"{each.alpha:.3f}", f"{s:.0f}"]
        for path, each, s in zip(paths, kept, cpu, strict=True)
    ]
    return (
        f"## {task}: {len(paths)} splits, α = {ALPHA}\n\n"
        + table(["how it is read", "accuracy %", "cut at the quantile %", "mean error of α̂",
                 "mean of α̂ − α"], means)
        + "\nWhat `TEDnClassifier` does, split by split:\n\n"
        + table(["split", "accuracy %", "α̂", "CPU s"], single) + "\n"
    )  # fmt: skip


def known_alpha(task: str) -> list[list[object]]:
    """Learners that are told α, at the cut that the posterior gives."""
    rows = []
    for method in ("cvir", "nnpu"):
        scored = []
        for path in files(task, method):
            with np.load(path) as kept:
                held = kept["held_p"][-1], kept["held_u"][-1]
                scored.append(read(ALPHA, *held, kept["tests"][-1], kept["y_test"]))
        if scored:
            accuracy, cut = ([getattr(e, n) for e in scored] for n in ("accuracy", "at_quantile"))
            rows.append([task, method, percent(accuracy), percent(cut), len(scored)])
    return rows


def page() -> str:
    rates = json.loads((FOLDER / "speed.json").read_text())
    known = [row for task in ("cifar_dog_cat", "binarized_cifar") for row in known_alpha(task)]
    columns = ["task", "learner", "accuracy %", "cut at the quantile %", "splits"]
    return (
        head("The fast net on CIFAR-10", "python bench/scripts/fast_net.py page")
        + f"torch {torch.__version__}, 1 thread. Splits as in the paper (cat–dog: 2,500 + 2,500 to "
        + "train, 500 + 500 held out,\n2,000 to test). The paper, ResNet on a GPU: (TED)ⁿ 75.2 % "
        + "and an error of .078 on cat–dog, 82.7 % and .042\n(All-CNN) on the binarized set.\n\n"
        + "".join(tedn_tables(t, NETS["fast"].last) for t in ("cifar_dog_cat", "binarized_cifar"))
        + ("## α known\n\n" + table(columns, known) + "\n" if known else "")
        + "## Images per second, forward and backward\n\n"
        + table(["net", "images/s", "fast : net"],
                [[n, f"{r:.0f}", f"{rates['fast'] / r:.1f}"] for n, r in rates.items()])
        + NOTES
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run")
    run.add_argument("task")
    run.add_argument("method")
    run.add_argument("splits", type=int, nargs="+")
    run.add_argument("--net", default="fast")
    run.add_argument("--batch", type=int, default=0, help="0: the one of the net")
    run.add_argument("--lr", type=float, default=0.0, help="0: the one of the net")
    verbs.add_parser("speed")
    verbs.add_parser("page")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.verb == "run":
        for split in given.splits:
            train_one(given.task, given.method, split, given.net, given.batch, given.lr)
    elif given.verb == "speed":
        speed()
    else:
        save("fast_net.md", page())


if __name__ == "__main__":
    main()
