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


@st.composite
def tables(draw):
    """A frame with a column `label`; at times too small, too plain or too strange to be used."""
    rows = draw(st.sampled_from([0, 1, 3, 8, 24, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    frame = pd.DataFrame(index=range(rows))
    for name in names:
        frame[name] = column(draw(st.sampled_from(KINDS)), rows, rng, draw)
    values = LABELS[draw(st.sampled_from(list(LABELS)))]
    frame["label"] = np.array(values, object)[rng.integers(0, len(values), rows)]
    return frame if draw(st.booleans()) else frame.convert_dtypes()


@st.composite
def options(draw):
    """Options of `topbin fit`, right and wrong."""
    pairs = {
        "--positive": ["yes", "1", "0.5", "nope"],
        "--negative": ["no", "-1"],
        "--id": ["x", "a b", "label"],
        "--drop": ["x", "Y,ü", "label"],
        "--text": ["x", "a b"],
        "--review": ["1", "1000", "0", "-4"],
        "--min-precision": ["0.5", "2"],
        "--max-alpha": ["0.0", "1", "7"],
        "--seed": ["3", "-1"],
        "--threads": ["1", "0"],
        "--time-limit": ["0.001", "-1", "nan"],
        "--sql": ["select * from data", "select 1", "drop table data"],
    }
    chosen = draw(st.lists(st.sampled_from(list(pairs)), max_size=3, unique=True))
    return [word for name in chosen for word in (name, draw(st.sampled_from(pairs[name])))]
