"""Forged trees: every position that points outside the tree or the table is refused."""

import copy
from importlib.util import find_spec

import numpy as np
import pytest
from coded import fails
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

from topbin.store.safe.trees import check_booster, check_trees

rng = np.random.default_rng(0)
X = np.c_[rng.normal(size=(300, 2)), rng.integers(0, 6, 300)]
Y = (X[:, 0] + (X[:, 2] % 2) > 0.5).astype(int)
MODELS = [
    DecisionTreeClassifier(max_depth=4),
    RandomForestClassifier(3, max_depth=4),
    ExtraTreesClassifier(2, max_leaf_nodes=6),
    GradientBoostingClassifier(n_estimators=2),
    HistGradientBoostingClassifier(max_iter=3),
    HistGradientBoostingClassifier(max_iter=3, categorical_features=[2]),
    make_pipeline(PolynomialFeatures(3), RandomForestClassifier(2)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_honest_trees_pass(model):
    check_trees([model.fit(X, Y), {"again": (model,)}])


def forged_tree(field, value, node=0):
    """A decision tree with one number of one node changed."""
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    kind, given, state = model.tree_.__reduce__()
    state = copy.deepcopy(state)
    state["nodes"][field][node] = value
    tree = kind(*given)
    tree.__setstate__(state)
    model.tree_ = tree
    return model


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("left_child", 10**6, "is not within 0 to"),
        ("right_child", 10**6, "is not within 0 to"),
        ("right_child", -7, "is not within 0 to"),
        ("left_child", 0, "a child comes before its parent"),
        ("feature", 99, "is not within 0 to 2"),
        ("feature", -2, "is not within 0 to 2"),
    ],
)
def test_a_forged_decision_tree_is_refused(field, value, words):
    with fails("TB110", "damaged or forged", words, "Nothing was loaded"):
        check_trees([forged_tree(field, value)])


def test_a_forged_tree_is_found_in_a_forest_and_under_a_forged_number_of_columns():
    forest = RandomForestClassifier(3, max_depth=3).fit(X, Y)
    forest.estimators_[1] = forged_tree("feature", 99)
    with fails("TB110", "damaged or forged"):
        check_trees(forest)
    narrow = RandomForestClassifier(3, max_depth=3).fit(X, Y)
    narrow.n_features_in_ = 1  # would let rows of one column reach trees that read three
    with fails("TB110", "is not within 0 to 0"):
        check_trees(narrow)
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    boosted.n_features_in_ = 1
    with fails("TB110", "is not within 0 to 0"):
        check_trees([boosted])


def test_a_tree_without_a_number_of_columns_is_refused():
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    del model.n_features_in_
    with fails("TB110", "nothing says how many columns"):
        check_trees([model])
    with fails("TB110", "nothing says how many columns"):
        check_trees([DecisionTreeClassifier(max_depth=2).fit(X, Y).tree_])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("left", 10**6, "is not within"),
        ("right", 10**6, "is not within"),
        ("left", 0, "a child comes before its parent"),
        ("feature_idx", 99, "is not within 0 to 2"),
        ("bitset_idx", 99, "is not within"),
    ],
)
def test_a_forged_boosted_tree_is_refused(field, value, words):
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[2]).fit(X, Y)
    for iteration in model._predictors:
        nodes = iteration[0].nodes
        nodes[field][
            (nodes["is_leaf"] == 0) & ((field != "bitset_idx") | (nodes["is_categorical"] != 0))
        ] = value
    with fails("TB110", "damaged or forged", words):
        check_trees(model)


# LightGBM

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
    check_booster(text)
    assert resized(text) == text


@lightgbm
def test_a_booster_of_stumps_without_a_split_passes():
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=1, verbose=-1, n_jobs=1).fit(np.ones((50, 1)), [0, 1] * 25)
    check_booster(model.booster_.model_to_string())


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
        ("num_leaves", lambda v: ["many"], "ValueError"),
        ("is_linear", lambda v: ["1"], "linear models"),
        ("cat_boundaries", lambda v: [*v[:-1], "99"], "category lists do not fit"),
        ("cat_boundaries", lambda v: ["7", *v[1:]], "category lists do not fit"),
        ("max_feature_idx", lambda v: ["0"], "is not within 0 to 0"),
    ],
)
def test_a_forged_booster_is_refused(text, name, change, words):
    with fails("TB110", "damaged or forged", words):
        check_booster(with_line(text, name, change))


@lightgbm
def test_a_category_outside_its_lists_is_refused(text):
    from topbin.store.safe.trees import _split

    _, trees = _split(text)
    tree = next(
        tree for tree in trees if "1" in {str(int(d) % 2) for d in tree["decision_type"].split()}
    )
    place = next(i for i, d in enumerate(tree["decision_type"].split()) if int(d) % 2)
    old = tree["threshold"].split()
    new = [*old[:place], "99", *old[place + 1 :]]
    forged = text.replace("threshold=" + " ".join(old), "threshold=" + " ".join(new))
    with fails("TB110", "is not within"):
        check_booster(resized(forged))


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
        check_booster(change(text))
