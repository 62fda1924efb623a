"""Model folders forged to make compiled code leave its arrays: every one is refused with a code."""

import json
import os
import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from claims import small_run
from coded import fails
from forge import forge, forge_arrays, forge_json, nodes_of
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import topbin as tb
from topbin.core import atomic as folders
from topbin.learn.crossfit import Plan
from topbin.store.safe.packing import Attachments, pack, unpack

SMALL = Plan(outer=2, inner=2, repeats=1, warm=1, rounds=1)
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (60, 3)), rng.normal(0, 1, (60, 3))]
S = np.r_[np.ones(30), np.zeros(90)]
Y = (np.arange(120) < 60).astype(int)
# Its other way with quantiles, the default until scikit-learn 1.9, warns that it goes.
BINS = KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
MODELS = {
    "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=3),
    "neighbors": KNeighborsClassifier(algorithm="brute"),
}
BOOSTERS = {  # by the option that each is given for threads
    "n_jobs": {"n_jobs": 2},
    "num_threads": {"num_threads": 2},
    "booster": {"num_leaves": 4, "min_child_samples": 5, "n_jobs": 1},
}


def fitted(name):
    """A fitted model of one of these names, all with the fewest fits that a model has."""
    if name == "net":
        from topbin.learn import NetPlan

        return tb.PvUClassifier("uci-mlp", plan=NetPlan(epochs=1)).fit(X, S)
    if name == "three classes":
        classes = np.arange(len(X)) % 4
        return tb.OpenSetClassifier(plan=SMALL).fit(X, np.where(classes < 3, classes, np.nan))
    if name in MODELS:
        model = MODELS[name]
    else:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=2, verbose=-1, **BOOSTERS[name])
    return tb.PvUClassifier(model, plan=SMALL, random_state=0).fit(X, S)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a model, which is fitted and written once."""
    where = tmp_path_factory.mktemp("saved")

    def of(name):
        if not (where / name).exists():
            tb.save(fitted(name), where / name)
        return where / name

    return of


@pytest.fixture
def copy(saved, tmp_path):
    return lambda name: shutil.copytree(saved(name), tmp_path / name)


def state_of(content):
    """The attributes of a packed object, to be changed in place by name."""
    return {pair[0]: pair for pair in content[1]}


def objects(description, name):
    """Packed objects of a class that were fitted."""
    found = (node for node in nodes_of(description, "$object") if node[0] == name)
    return [node for node in found if "n_features_in_" in state_of(node)]


def change_objects(folder, name, change):
    """Apply `change` to the attributes of every packed object of this class."""

    def forged(description):
        found = objects(description, name)
        assert found
        for node in found:
            change(state_of(node))
        return description

    forge_json(folder, "model.json", forged)


def test_boosting_with_repeated_trees_is_refused(copy):
    folder = copy("boosting")

    def repeat(attributes):
        array = attributes["estimators_"][1]["$array"]
        rounds = array["shape"][0]
        array.update(objects=array["objects"] * 50, shape=[rounds, 50])

    change_objects(folder, "GradientBoostingClassifier", repeat)
    with fails("TB110", "more than one tree per round"):
        tb.load(folder)


@pytest.mark.parametrize("value", [0, 7])
def test_boosting_with_another_number_of_outputs_is_refused(copy, value):
    folder = copy("boosting")

    def change(attributes):
        attributes["n_trees_per_iteration_"][1] = value
        attributes["init_"][1] = "zero"

    change_objects(folder, "GradientBoostingClassifier", change)
    with fails("TB110", "more than one tree per round"):
        tb.load(folder)


@pytest.mark.parametrize("name", ["forest", "boosting"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a[:0], "its values do not fit its nodes"),
        (lambda a: a.repeat(2), "its values do not fit its nodes"),
        (lambda a: a.view("u1"), "its nodes have another form"),
        (lambda a: spoiled(a, "left_child", 10**6), "is not within"),
        (lambda a: spoiled(a, "feature", 99), "is not within"),
        (lambda a: spoiled(a, "right_child", a["left_child"][0]), "a node has two parents"),
    ],
)
def test_forged_nodes_are_refused(copy, name, change, words):
    folder = copy(name)
    forge_arrays(folder, lambda _, array: change(array) if array.dtype.names else array)
    with fails("TB110", words):
        tb.load(folder)


def spoiled(nodes, field, value):
    nodes = nodes.copy()
    nodes[field][0] = value
    return nodes


def test_trees_without_nodes_are_refused(copy):
    folder = copy("forest")
    trees = {f"a{i}" for i in range(10**4)}

    def empty(_, array):
        is_tree = array.dtype.names or (array.ndim == 3 and array.shape[1] == 1)
        return array[:0] if is_tree and trees else array

    forge_arrays(folder, empty)
    with fails("TB110", "it has no nodes"):
        tb.load(folder)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 10**9, None),  # more columns than the forest has: its own number counts
        (1, 10**6, "two classes"),
        (1, -1, "two classes"),
        (2, 0, "deep and says 0"),
    ],
)
def test_a_tree_that_misstates_its_sizes_is_refused(copy, place, value, words):
    folder = copy("forest")

    def change(description):
        for tree in nodes_of(description, "$tree"):
            tree[place] = value
        return description

    forge_json(folder, "model.json", change)
    if words is None:
        tb.load(folder).predict_proba(X)
        return
    with fails("TB110", words):
        tb.load(folder)


def test_a_forest_for_fewer_columns_than_its_trees_read_is_refused(copy):
    folder = copy("forest")
    change_objects(
        folder, "RandomForestClassifier", lambda a: a["n_features_in_"].__setitem__(1, 1)
    )
    with fails("TB110", "is not within 0 to 0"):
        tb.load(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a["verbose"].__setitem__(slice(2), ["_in_fit", True]), "in the middle of a fit"),
        (lambda a: a["_preprocessor"].__setitem__(1, "passthrough"), "changes its columns"),
        (lambda a: a["n_features_in_"].__setitem__(1, 1), "columns do not fit"),
    ],
)
def test_histogram_boosting_that_skips_its_checks_is_refused(copy, change, words):
    folder = copy("histogram")
    change_objects(folder, "HistGradientBoostingClassifier", change)
    with fails("TB110", words):
        tb.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a["n_samples_fit_"].__setitem__(1, 10**6),
        lambda a: a["n_neighbors"].__setitem__(1, 10**6),
        lambda a: a["_y"].__setitem__(1, a["classes_"][1]),
        lambda a: a["_fit_method"].__setitem__(1, "kd_tree"),
    ],
)
def test_neighbors_with_forged_counts_are_refused(copy, change):
    folder = copy("neighbors")
    change_objects(folder, "KNeighborsClassifier", change)
    with fails("TB110"):
        tb.load(folder)


def test_neighbors_of_a_class_that_does_not_exist_are_refused(copy):
    folder = copy("neighbors")
    rows = {120, 60, 80}  # the training rows of a fold, whose classes are one number per row

    def change(_, array):
        return array + 10**7 if array.dtype == np.intp and array.size in rows else array

    forge_arrays(folder, change)
    with fails("TB110"):
        tb.load(folder)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "KDTree", "BallTree", "bsr_array", "Pickler"])
def test_types_that_nobody_checks_are_never_built(copy, name):
    folder = copy("forest")

    def rename(description):
        for node in objects(description, "RandomForestClassifier"):
            node[0] = name
        return description

    forge_json(folder, "model.json", rename)
    with fails("TB111", name):
        tb.load(folder)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("csr_array", {"indices": np.array([0, 10**6])}),
        ("csr_array", {"indptr": np.array([0, 2, 10**6])}),
        ("csr_array", {"indptr": np.array([0, 2, 1])}),
        ("csc_array", {"indices": np.array([0, -5])}),
        ("csr_matrix", {"data": np.array([1.0])}),
        ("bsr_array", {}),
        ("coo_matrix", {}),
        ("dia_array", {}),
    ],
)
def test_sparse_arrays_are_checked_under_every_name(kind, change):
    attached = Attachments()
    arrays = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    packed = [pack(array, attached) for array in (arrays | change).values()]
    with pytest.raises(ValueError, match=r"."):  # a coded one, or scipy's, which load makes TB110
        unpack({"$sparse": [kind, [2, 2], *packed]}, attached)


def test_honest_sparse_arrays_come_back():
    attached = Attachments()
    found = unpack(json.loads(json.dumps(pack(csr_array(X), attached))), attached)
    np.testing.assert_array_equal(found.toarray(), X)


@pytest.mark.parametrize("change", [{"pos": 10**9}, {"key": np.zeros(3, np.uint32)}])
def test_forged_random_states_are_refused(change):
    attached = Attachments()
    state = np.random.RandomState(0).get_state(legacy=False)
    state["state"] |= change
    with fails("TB110", "random numbers"):
        unpack({"$random": pack(state, attached)}, attached)


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        GaussianProcessClassifier(),
        ExtraTreesClassifier(2, max_depth=2),
        VotingClassifier([("a", GaussianNB()), ("b", RandomForestClassifier(2))], voting="soft"),
        make_pipeline(SelectKBest(k=2), QuantileTransformer(n_quantiles=9), GaussianNB()),
        make_pipeline(make_union(RobustScaler(), StandardScaler()), GaussianNB()),
        make_pipeline(BINS, GaussianNB()),
        make_pipeline(
            make_column_transformer(
                (StandardScaler(), [0]),
                (OneHotEncoder(handle_unknown="ignore", sparse_output=False), [1]),
                remainder="passthrough",
            ),
            GaussianNB(),
        ),
        LinearSVC(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_listed_models_come_back(model):
    attached = Attachments()
    model.fit(X.round(), Y)
    again = unpack(json.loads(json.dumps(pack(model, attached))), attached)
    np.testing.assert_array_equal(again.predict(X.round()), model.predict(X.round()))


# LightGBM's texts

BOOSTED = pytest.mark.skipif(find_spec("lightgbm") is None, reason="lightgbm is not installed")


@BOOSTED
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("left_child=", "left_child=1\rright_child="),
        lambda text: text.replace("num_class=1", "num_class=1000000"),
        lambda text: text.replace("num_tree_per_iteration=1", "num_tree_per_iteration=7"),
        lambda text: text.replace("version=v4", "version=v4\nlinear_tree=1"),
        lambda text: text.replace("max_feature_idx=", "max_feature_idx=+"),
        lambda text: text.replace("split_feature=", "split_feature=0.0 "),
        lambda text: text.replace("left_child=", "left_child=1e9 "),
        lambda text: text.replace("left_child=", "left_child=0x1 "),
        lambda text: text.replace("num_leaves=", "num_leaves=-"),
        lambda text: text.replace("num_cat=0", "num_cat=9"),
        lambda text: text.replace("decision_type=2", "decision_type=3"),
        lambda text: text.replace("decision_type=2", "decision_type=250"),
        lambda text: text.replace("leaf_value=", "leaf_value=1 "),
        lambda text: text.replace("shrinkage=", "leaf_coeff=1\nshrinkage="),
        lambda text: text.replace("threshold=", "threshold=\0"),
        lambda text: text.replace("Column_0", "Column_0 Column_9"),
        lambda text: text.replace("Tree=1", "Tree=0"),
        lambda text: text.replace("=", "=٣", 5),
    ],
)
def test_a_booster_in_any_other_spelling_is_refused(copy, change):
    folder = copy("booster")
    forge_json(folder, "boosters.json", lambda texts: [change(text) for text in texts])
    with fails("TB110", "damaged or forged"):
        tb.load(folder)


@BOOSTED
@pytest.mark.parametrize("name", ["n_jobs", "num_threads", "_n_classes"])
@pytest.mark.parametrize("wrong", [1_000_000, "1000000", {"$scalar": ["<i8", 1_000_000]}])
def test_numbers_for_which_a_library_takes_everything_are_refused(copy, name, wrong):
    folder = copy("booster" if name.startswith("_") else name)

    def change(description):
        for state, *_ in nodes_of(description, "$lightgbm"):
            for pair in state:
                if pair[0] == name:
                    pair[1] = wrong
        return description

    forge_json(folder, "model.json", change)
    with fails("TB110", f"{name} = 1000000"):
        tb.load(folder)


@BOOSTED
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("num_class=3", "num_class=4"),
        lambda text: text.replace("num_class:3", "num_class:4"),
        lambda text: text.replace("=3\nnum_tree_per_iteration=3", "=4\nnum_tree_per_iteration=4"),
        lambda text: text.replace("3\n", "5\n").replace("num_class:3", "num_class:5"),
        lambda text: text.replace("multiclass num_class:3", "binary sigmoid:1"),
    ],
)
def test_a_booster_of_several_classes_must_have_trees_for_each(copy, change):
    folder = copy("three classes")
    forge_json(folder, "boosters.json", lambda texts: [change(text) for text in texts])
    with fails("TB110", "damaged or forged"):
        tb.load(folder)


# Nets

TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@TORCH
@pytest.mark.parametrize("shape", [[10**9], [10**6, 10**6], [-3], [4, 10**9, 10**9]])
def test_a_net_for_rows_of_a_forged_shape_takes_no_memory(copy, shape):
    import torch
    from safetensors.torch import load, save

    folder = copy("net")
    tensors = load((folder / "tensors.safetensors").read_bytes())
    tensors["net0.rows"] = torch.tensor(shape)
    forge(folder, "tensors.safetensors", save(tensors))
    with fails("TB110"):
        tb.load(folder)


# Files that are none


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("name", ["SHA256SUMS", "model.json", "arrays.npz"])
def test_pipes_devices_and_links_out_of_the_folder_are_refused(copy, name, tmp_path):
    folder = copy("neighbors")
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with fails("TB110", name, "not a regular file"):
        tb.load(folder)
    (folder / name).unlink()
    (tmp_path / "outside").write_bytes(content)
    for target, words in (("/dev/zero", "out of its folder"), (tmp_path / "outside", "out of its")):
        (folder / name).symlink_to(target)
        with fails("TB110", name, words):
            tb.load(folder)
        (folder / name).unlink()
    (folder / "inside").write_bytes(content)
    (folder / name).symlink_to(folder / "inside")
    tb.load(folder)


def test_a_file_beyond_all_sizes_is_refused(copy):
    folder = copy("neighbors")
    with (folder / "arrays.npz").open("r+b") as handle:
        handle.truncate(folders.LIMIT + 1)  # takes no place on the disk
    with fails("TB110", "arrays.npz", "is the most"):
        tb.load(folder)


def test_arrays_that_unpack_to_more_than_any_model_are_refused(copy, monkeypatch):
    from topbin.store import models

    folder = copy("neighbors")
    monkeypatch.setattr(models, "LIMIT", 1000)
    with fails("TB110", "unpacks to more"):
        tb.load(folder)


def test_an_array_that_says_it_is_larger_than_memory_is_refused(copy):
    folder = copy("neighbors")
    with np.load(folder / "arrays.npz") as stored:
        names = stored.files
    import zipfile
    from io import BytesIO

    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }"
    header = header.ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.npy", content)
    forge(folder, "arrays.npz", buffer.getvalue())
    with fails("TB110", "cannot be loaded"):
        tb.load(folder)


@pytest.mark.parametrize(
    "quantiles", [[0.5] * 3, [0.5] * 14 + [0.4], [0.5] * 14 + [2.0], ["0.5"] * 15, [None] * 15, 7]
)
def test_a_posterior_that_is_none_is_refused(tmp_path, quantiles):
    folder = small_run(tmp_path / "run") / "model"

    def change(about):
        for name, fields in nodes_of(about, "$value"):
            if name == "AlphaPosterior":
                packed = {"$tuple": quantiles} if isinstance(quantiles, list) else quantiles
                fields["quantiles"] = packed
        return about

    forge_json(folder, "model.json", change)
    for place in (folder, folder.parent):
        with pytest.raises(tb.core.TopbinError) as caught:
            tb.load(place)
        assert caught.value.code in ("TB008", "TB110")
