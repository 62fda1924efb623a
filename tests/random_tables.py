"""Random tables as people have them, and worse: all kinds of columns, labels and files."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

WORDS = st.text(max_size=8) | st.sampled_from(
    [
        "=cmd()",
        "<script>",
        'a"b',
        "a,b",
        "a\nb",
        "a\rb",
        "ü",
        "\x00",
        "NA",
        "1e5",
        "2020-01-01",
        " ",
    ]
)
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1e308, -1e308, 5e-324, 2.0**53, 0.1])
NAMES = st.sampled_from(
    ["x", "Y", "a b", "ü", "=1", "<b>", "row", "rank", "is_positive"]
) | st.text(max_size=6)
KINDS = ("normal", "number", "whole", "truth", "word", "date", "constant", "missing", "mixed")
LABELS = {
    "1 and 0": [1, 0],
    "1 and -1": [1, -1],
    "truth": [True, False],
    "1 and blank": [1.0, None],
    "words": ["yes", "no"],
    "word and blank": ["yes", None],
    "three words": ["yes", "no", "maybe"],
    "numbers": [0.5, 1.5, 2.5],
    "one value": [1],
    "blank": [None],
}


def column(kind, rows, rng, draw):
    """One column; random numbers come from `rng`, the strange values from hypothesis."""
    if kind == "normal":
        return rng.normal(size=rows)
    if kind == "whole":
        return rng.integers(-3, 4, rows)
    if kind == "truth":
        return rng.random(rows) < 0.5
    if kind == "date":
        return np.datetime64("2020-01-01") + rng.integers(0, 900, rows).astype("timedelta64[D]")
    if kind == "constant":
        return np.ones(rows)
    if kind == "missing":
        return np.full(rows, None, object)
    pool = [draw(NUMBERS if kind == "number" else WORDS) for _ in range(3)]
    if kind == "mixed":
        pool = [*map(str, pool), None, "7", "3.5"]
    chosen = rng.integers(0, len(pool), rows)
    return np.array(pool, object if kind != "number" else float)[chosen]


USABLE = ("1 and 0", "1 and -1", "truth", "1 and blank")
RIGHT = {
    "--candidates": ["1", "1000"],
    "--min-precision": ["0.5", "0.01"],
    "--max-alpha": ["0.0", "1"],
    "--seed": ["3"],
    "--threads": ["1"],
    "--time-limit": ["0.001"],
    "--sql": ["select * from data"],
    "--drop": ["normal 2"],
    "--id": ["normal 2"],
}
WRONG = {
    "--positive": ["yes", "1", "0.5", "nope"],
    "--negative": ["no", "-1"],
    "--id": ["x", "a b", "label"],
    "--drop": ["x", "Y,ü", "label"],
    "--text": ["x", "normal 1", "label"],
    "--candidates": ["0", "-4", "many"],
    "--min-precision": ["2", "nan"],
    "--max-alpha": ["7"],
    "--seed": ["-1"],
    "--threads": ["0"],
    "--time-limit": ["-1", "nan"],
    "--sql": ["select 1", "drop table data", "select"],
}


@st.composite
def jobs(draw):
    """A frame with a column `label`, and options of `topbin fit` for it.

    Two of three can be done; the others are too small, too plain, too strange or wrongly asked for.
    """
    usable = draw(st.integers(0, 2)) > 0
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    rows = draw(st.sampled_from([24, 40] if usable else [0, 1, 3, 8, 24]))
    frame = pd.DataFrame(index=range(rows))
    for name in draw(st.lists(NAMES, max_size=4, unique=True)):
        frame[name] = column(draw(st.sampled_from(KINDS)), rows, rng, draw)
    for name in ("normal 1", "normal 2") if usable else ():
        frame[name] = rng.normal(size=rows)
    values = LABELS[draw(st.sampled_from(USABLE if usable else tuple(LABELS)))]
    frame["label"] = np.array(values, object)[rng.integers(0, len(values), rows)]
    options = RIGHT if usable else WRONG
    chosen = draw(st.lists(st.sampled_from(list(options)), max_size=3, unique=True))
    words = [word for name in chosen for word in (name, draw(st.sampled_from(options[name])))]
    with np.errstate(invalid="ignore"):  # pandas 2.2 casts 1e308 to a whole number
        return (frame if draw(st.booleans()) else frame.convert_dtypes()), words
