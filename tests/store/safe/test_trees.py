"""Forged trees: every position that points outside the tree or the table is refused."""

import copy

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

from topbin.store.safe.trees import check_trees

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
