"""Forged boosters: anything that LightGBM does not write itself is refused."""

import re
from importlib.util import find_spec

import numpy as np
import pytest
from coded import fails

from topbin.store.safe.boosters import trees_only

rng = np.random.default_rng(0)
X = np.c_[rng.normal(size=(300, 2)), rng.integers(0, 6, 300)]
Y = (X[:, 0] + (X[:, 2] % 2) > 0.5).astype(int)
lightgbm = pytest.mark.skipif(find_spec("lightgbm") is None, reason="lightgbm is not installed")


@pytest.fixture(scope="module")
def text():
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=2,
        num_leaves=5,
        min_child_samples=5,
        min_data_per_group=5,
        cat_smooth=1,
        n_jobs=1,
        verbose=-1,
    )
    text = model.fit(X, Y, categorical_feature=[2]).booster_.model_to_string()
    assert "cat_boundaries" in text
    return text


def resized(text):
    """State the sizes of the trees anew, as a careful forger would."""
    start = text.index("\nTree=") + 1
    end = text.index("end of trees")
    parts = text[start:end].split("Tree=")[1:]
    sizes = " ".join(str(len("Tree=" + part)) for part in parts)
    lines = [
        f"tree_sizes={sizes}" if line.startswith("tree_sizes=") else line
        for line in text[:start].split("\n")
    ]
    return "\n".join(lines) + text[start:]


def with_line(text, name, change):
    lines = text.split("\n")
    place = next(i for i, line in enumerate(lines) if line.startswith(name + "="))
    values = lines[place].partition("=")[2].split()
    lines[place] = f"{name}={' '.join(change(values))}"
    return resized("\n".join(lines))


@lightgbm
def test_an_honest_booster_passes(text):
    kept = trees_only(text)
    assert resized(text) == text
    assert text.startswith(kept.removesuffix("end of trees\n"))
    assert trees_only(kept) == kept


@lightgbm
def test_a_booster_of_stumps_without_a_split_passes():
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=1, verbose=-1, n_jobs=1).fit(np.ones((50, 1)), [0, 1] * 25)
    trees_only(model.booster_.model_to_string())


@lightgbm
@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("left_child", lambda v: ["99", *v[1:]], "is not within"),
        ("left_child", lambda v: ["-99", *v[1:]], "is not within"),
        ("right_child", lambda v: ["0", *v[1:]], "a child comes before its parent"),
        ("right_child", lambda v: [*v, "1"], "lists differ in length"),
        ("split_feature", lambda v: ["99", *v[1:]], "is not within 0 to 2"),
        ("num_leaves", lambda v: ["4000"], "lists differ in length"),
        ("num_leaves", lambda v: ["many"], "a tree is not where its header says"),
        ("is_linear", lambda v: ["1"], "linear models"),
        ("cat_boundaries", lambda v: [*v[:-1], "99"], "category lists do not fit"),
        ("cat_boundaries", lambda v: ["7", *v[1:]], "category lists do not fit"),
        ("max_feature_idx", lambda v: ["0"], "it has 1 columns, and its names differ in length"),
    ],
)
def test_a_forged_booster_is_refused(text, name, change, words):
    with fails("TB110", "damaged or forged", words):
        trees_only(with_line(text, name, change))


@lightgbm
def test_a_category_outside_its_lists_is_refused(text):
    blocks = [re.findall(r"^(\w+)=(.*)$", block, re.M) for block in text.split("Tree=")[1:]]
    tree = next(
        tree
        for tree in map(dict, blocks)
        if "1" in {str(int(d) % 2) for d in tree["decision_type"].split()}
    )
    place = next(i for i, d in enumerate(tree["decision_type"].split()) if int(d) % 2)
    old = tree["threshold"].split()
    new = [*old[:place], "99", *old[place + 1 :]]
    forged = text.replace("threshold=" + " ".join(old), "threshold=" + " ".join(new))
    with fails("TB110", "is not within"):
        trees_only(resized(forged))


@lightgbm
@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text.replace("tree_sizes=", "tree_sizes=1 "),
        lambda text: text.replace("tree_sizes=", "no_sizes="),
        lambda text: text.replace("end of trees", "Tree=2\nend of trees"),
        lambda text: text.replace("tree_sizes=", "tree_sizes=0 "),
        lambda text: resized(text.replace("num_cat=", "left_child=9\nnum_cat=")),
        lambda text: text.replace("max_feature_idx", "nothing"),
    ],
)
def test_a_booster_cut_otherwise_than_it_says_is_refused(text, change):
    with fails("TB110", "damaged or forged"):
        trees_only(change(text))
