"""(TED)ⁿ with a net on five UCI tables beside its rivals and the paper: the target, and its misses.

    python bench/scripts/tedn_uci_torch.py

Nothing is trained here: the runs are those of `topbin bench run uci --profile paper`, kept in
results/bench. α̂ is the mean of the last ten epochs, and errors are those of that mean.
"""

import pandas as pd
from machine import RESULTS, head, save, table

from topbin_bench.paper import printed
from topbin_bench.store import DONE, Store
from topbin_bench.tables import mean_of, name_of

ALPHA, TARGET = 0.5, 0.035
TABLES = ["concrete", "mushroom", "landsat", "pageblock", "spambase"]
ESTIMATE = ["tedn", "bbe", "bbe_cp", "dedpul", "elkan_noto", "topbin"]
CLASSIFY = ["tedn", "cvir", "pvu", "dedpul", "nnpu", "upu", "topbin"]
TRIED = """
## What was tried to bring the error of (TED)ⁿ down, and what helps

Hold-out scores of the last 60 to 250 epochs were kept and read in other ways; truth was used only
to compare. On small hold-outs the splits err the same way whatever is done, so this is the noise of
the hold-out: at the bin that BBE picks, sd ≈ ½·√(3(1−q)/(q·n)), about .05 for concrete (n = 81,
q ≈ .8), .04 for pageblock (92), .03 for spambase (302). On concrete the net also overlaps: the bin
is 76 to 84 % pure, which biases α̂ up.

- One BBE of scores averaged over 10, 20, 50 or 200 epochs, as logits or as ranks; the last epoch
  alone; the settled epoch; δ = .5, γ = 0: within .01 of the mean of ten, in no order.
- Exact limits (bbe_cp) at levels 5e-4, .01, .05: no better here (concrete, one split: .15 became
  .28, .20, .16).
- Batches of 50 and of 20 rather than 200, Adam at 1e-3 (concrete, 4 splits: .144 became .156, .156,
  .180): more steps an epoch overfit (AUC on test rows .882, then .866, .852, .863).
- Holding out each third in turn (three nets of the same sizes, three times the work; 4 splits):
  concrete .144 became .107, pageblock .046 became .025. It is what the table default does (nested
  folds, boosted trees), whose errors are the last column above.
- A warm start that ends by itself, once PvU is past its best on held-out rows (in the benchmark as
  tedn-auto, the default of `NetPlan`; 10 splits): mean error .038 rather than .041, difference
  -.004 ± .004; accuracy +.4 ± .2 points. On the first 3 splits W = 10 looked better still (.026
  against .037): three splits are too few to tell.
"""


def column(rows: pd.DataFrame, task: str, method: str, measure: str) -> "pd.Series[float]":
    cells = rows[(rows["task"] == task) & (rows["method"] == method)].set_index("seed")
    if measure == "accuracy":
        return 100 * cells["accuracy_last"]
    return (cells["alpha_last"] - ALPHA).abs()


def beside(task: str, method: str, measure: str) -> str:
    found = printed(task, method, measure)
    star = "*" if found and found.stop == "oracle" else ""
    return f" ({found.value:g}{star})" if found else ""


def lines(rows: pd.DataFrame, methods: list[str], measure: str) -> list[list[object]]:
    digits = 1 if measure == "accuracy" else 3
    body, total = [], {method: [] for method in methods}
    for task in TABLES:
        line: list[object] = [task]
        for method in methods:
            values = column(rows, task, method, measure)
            mean = mean_of(values)
            total[method].append(values)
            shown = "–" if mean is None else f"{mean.show(digits)} [{mean.n}]"
            line.append(shown + beside(task, method, measure))
        body.append(line)
    overall = [pd.concat(each).groupby(level=0).agg(["mean", "size"]) for each in total.values()]
    whole = [mean_of(each["mean"][each["size"] == len(TABLES)]) for each in overall]
    return [*body, ["**mean**", *("–" if m is None else m.show(digits) for m in whole)]]


def main() -> None:
    rows = Store(RESULTS / "bench").current()
    rows = rows[(rows["status"] == DONE) & (rows["alpha"] == ALPHA) & (rows["profile"] == "paper")]
    errors, rights = (
        table(["", *map(name_of, methods)], lines(rows, methods, measure))
        for methods, measure in ((ESTIMATE, "alpha_error"), (CLASSIFY, "accuracy"))
    )
    bias = (rows[rows["method"] == "tedn"].groupby("task")["alpha_last"].mean() - ALPHA)[TABLES]
    said = ", ".join(f"{task} {value:+.3f}" for task, value in bias.items())
    save(
        "tedn_uci_torch.md",
        head("(TED)ⁿ with a net on five UCI tables", "python bench/scripts/tedn_uci_torch.py")
        + "W = 100 + 200 epochs, 512-512 net, the paper's optimisers and sizes, α = 0.5. Mean ±\n"
        + "standard error over splits [how many] (the paper's; * its oracle's stop). The last\n"
        + "line is over the splits that have all five tables.\n\n"
        + f"## |α̂ − 0.5|; the target for (TED)ⁿ is a mean ≤ {TARGET}\n\n{errors}\n"
        + f"Bias of (TED)ⁿ: {said}.\n\n## Accuracy on test rows, per cent, last epochs\n\n{rights}"
        + TRIED,
    )


if __name__ == "__main__":
    main()
