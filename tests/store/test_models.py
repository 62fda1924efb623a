"""Model folders: the same predictions in a new process, and nothing loaded that is not ours."""

import json
import pickle
import subprocess
import sys
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from coded import fails
from forge import forge
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import topbin as tb
from topbin.data import Batch, fit_features
from topbin.learn import NetPlan
from topbin.learn.crossfit import Plan
from topbin.store import inspect_model, load_encoder, models, safe
from topbin.store.safe import packing as store
from topbin.store.safe.packing import Attachments, pack, unpack

SMALL = Plan(outer=2, inner=2, repeats=1, warm=1, rounds=1)
NET = NetPlan(epochs=2, warm=1)
RENAMED = {
    "Posterior": "ProbabilityMap",
    "ImageClassifier": "TEDnClassifier",
}  # since they were stored
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (80, 3)), rng.normal(0, 1, (80, 3))]
S = np.r_[np.ones(40), np.zeros(120)]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=["Ulm", "Rom"] * 80)

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
needs_lightgbm = pytest.mark.skipif(
    find_spec("lightgbm") is None, reason="lightgbm is not installed"
)


def lightgbm(**settings):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1, **settings)


def xgboost(**settings):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=4, n_jobs=1, **settings)


def catboost(**settings):
    from catboost import CatBoostClassifier

    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return CatBoostClassifier(iterations=4, **quiet, **settings)


def own_net():
    from torch import nn

    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))


TABLE_MODELS = {
    "logistic": lambda: LogisticRegression(),
    "sgd": lambda: SGDClassifier(loss="log_loss"),
    "pipeline": lambda: make_pipeline(
        PolynomialFeatures(2), StandardScaler(), LogisticRegression()
    ),
    "wide trees": lambda: make_pipeline(
        PolynomialFeatures(2), HistGradientBoostingClassifier(max_iter=3)
    ),
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=3),
    "forest": lambda: RandomForestClassifier(3),
    "older boosting": lambda: GradientBoostingClassifier(n_estimators=3),
    "bagging": lambda: BaggingClassifier(n_estimators=3, max_features=0.5),
    "ada": lambda: AdaBoostClassifier(n_estimators=3),
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression(), cv=2),
    "mlp": lambda: MLPClassifier((4,), max_iter=500, tol=1e-2),
    "neighbours": lambda: KNeighborsClassifier(algorithm="brute"),
}
FACES = {
    "tedn default": lambda: tb.TEDnClassifier(plan=SMALL),
    "tedn refit": lambda: tb.TEDnClassifier(refit="cvir", plan=SMALL),
    "cvir": lambda: tb.CVIRClassifier(alpha=0.3, plan=SMALL),
    "pvu": lambda: tb.PvUClassifier(plan=SMALL, random_state=np.random.RandomState(0)),
    "elkan-noto": lambda: tb.ElkanNotoClassifier(plan=SMALL),
    "elkan-noto weighted": lambda: tb.ElkanNotoClassifier(weighted=True, plan=SMALL),
    "dedpul": lambda: tb.DEDPULClassifier(plan=SMALL),
    "words as labels": lambda: tb.PvUClassifier(LogisticRegression(), positive="yes", plan=SMALL),
    **{
        name: lambda model=model: tb.TEDnClassifier(model(), plan=SMALL)
        for name, model in TABLE_MODELS.items()
    },
}
if find_spec("lightgbm"):
    FACES["lightgbm"] = lambda: tb.TEDnClassifier(lightgbm(), plan=SMALL)
    FACES["lightgbm calibrated"] = lambda: tb.PvUClassifier(
        CalibratedClassifierCV(lightgbm(), method="isotonic", cv=StratifiedKFold(2)), plan=SMALL
    )
    FACES["lightgbm in a pipeline"] = lambda: tb.TEDnClassifier(
        make_pipeline(StandardScaler(), lightgbm()), plan=SMALL
    )
if find_spec("xgboost"):
    FACES["xgboost"] = lambda: tb.TEDnClassifier(xgboost(), plan=SMALL)
    FACES["xgboost in a pipeline"] = lambda: tb.PvUClassifier(
        make_pipeline(StandardScaler(), xgboost(grow_policy="lossguide", gamma=1)), plan=SMALL
    )
if find_spec("catboost"):
    FACES["catboost"] = lambda: tb.TEDnClassifier(catboost(), plan=SMALL)
if find_spec("torch"):
    FACES["tedn net"] = lambda: tb.TEDnClassifier("uci-mlp", plan=NET)
    FACES["nnpu net"] = lambda: tb.NNPUClassifier(alpha=0.3, plan=NET)
    FACES["upu net"] = lambda: tb.UPUClassifier(alpha=0.3, plan=NET)
    FACES["cvir net"] = lambda: tb.CVIRClassifier("uci-mlp", alpha=0.3, plan=NET)
    FACES["own net"] = lambda: tb.NNPUClassifier(own_net(), alpha=0.3, plan=NET)

CHILD = """
import os, sys
from importlib.util import find_spec
from pathlib import Path
sys.path[:0] = sys.argv[2:]
import numpy as np, topbin as tb
from test_models import X, own_net
# Some unpickle things of their own when imported.
for library in ("lightgbm", "xgboost", "catboost", "torch"):
    find_spec(library) and __import__(library)
def watch(event, given):
    if event == "pickle.find_class" or (event == "open" and str(given[0]).endswith(".pkl")):
        os.write(2, f"a pickle was opened: {given}".encode())
        os._exit(9)
sys.addaudithook(watch)
for folder in sorted(Path(sys.argv[1]).iterdir()):
    own = {"net": own_net()} if folder.name == "own net" else {}
    model = tb.load(folder, **own)
    np.savez(folder.with_suffix(".npz"), proba=model.predict_proba(X), labels=model.predict(X))
"""


@pytest.fixture(scope="module")
def fitted():
    found = {}
    for name, make in FACES.items():
        labels = np.where(S == 1, "yes", "no") if name == "words as labels" else S
        found[name] = make().fit(X, labels)
    return found


@pytest.fixture
def folder(fitted, tmp_path):
    tb.save(fitted["forest"], tmp_path / "m")
    return tmp_path / "m"


def test_every_face_and_backend_predicts_the_same_in_a_new_process(fitted, tmp_path):
    for name, model in fitted.items():
        tb.save(model, tmp_path / name)
        (tmp_path / name / "model.pkl").write_bytes(pickle.dumps(print))
    here = Path(__file__).parent
    paths = [str(path) for path in (tmp_path, here, here.parent)]
    done = subprocess.run([sys.executable, "-c", CHILD, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, model in fitted.items():
        with np.load(tmp_path / f"{name}.npz") as there:
            np.testing.assert_array_equal(there["proba"], model.predict_proba(X), err_msg=name)
            np.testing.assert_array_equal(there["labels"], model.predict(X), err_msg=name)


def test_everything_fitted_comes_back(fitted, tmp_path):
    for name, model in fitted.items():
        tb.save(model, tmp_path / name)
        again = tb.load(tmp_path / name, net=model.estimator if name == "own net" else None)
        assert type(again) is type(model)
        assert vars(again).keys() == vars(model).keys()
        assert again.estimate_ == model.estimate_
        assert again.history_ == model.history_
        assert again.plan == model.plan
        assert again.n_features_in_ == 3
        np.testing.assert_array_equal(again.classes_, model.classes_)
        np.testing.assert_array_equal(again.scores_u_, model.scores_u_)
        assert again.classes_.dtype == model.classes_.dtype


def test_a_loaded_model_can_be_fitted_again(folder):
    again = tb.load(folder).fit(X, S)
    np.testing.assert_array_equal(again.alpha_, tb.load(folder).alpha_)


def test_a_frame_and_sparse_rows_work_after_loading(tmp_path):
    for name, rows in (("frame", FRAME), ("sparse", csr_array(X))):
        model = tb.PvUClassifier(plan=SMALL).fit(rows, S)
        tb.save(model, tmp_path / name)
        again = tb.load(tmp_path / name)
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    with fails("TB109"):
        tb.load(tmp_path / "frame").predict(FRAME.rename(columns={"a": "z"}))


def test_an_alpha_estimator_comes_back(tmp_path):
    model = tb.AlphaEstimator(cv=2, repeats=1).fit(X, S)
    tb.save(model, tmp_path / "m")
    assert tb.load(tmp_path / "m").estimate_ == model.estimate_
    assert tb.load(tmp_path / "m").summary() == model.summary()


def test_an_unfitted_face_comes_back(tmp_path):
    tb.save(tb.TEDnClassifier(plan=SMALL, time_limit=3.0), tmp_path / "m")
    assert tb.load(tmp_path / "m").get_params()["time_limit"] == 3.0


def test_a_callback_is_not_stored(tmp_path):
    model = tb.PvUClassifier(LogisticRegression(), plan=SMALL, on_event=lambda event: None)
    tb.save(model.fit(X, S), tmp_path / "m")
    assert tb.load(tmp_path / "m").on_event is None


def test_an_encoder_is_kept_with_the_model(fitted, tmp_path):
    encoder = fit_features(Batch.from_frame(FRAME))
    tb.save(fitted["forest"], tmp_path / "m", encoder=encoder)
    assert load_encoder(tmp_path / "m") == encoder
    tb.save(fitted["forest"], tmp_path / "n")
    assert load_encoder(tmp_path / "n") is None


def test_a_classifier_of_a_frame_keeps_its_features(tmp_path):
    frame = FRAME.assign(day=pd.date_range("2020-01-01", periods=len(FRAME)), same=1)
    with pytest.warns(UserWarning, match='"same" is the same in every row'):
        model = tb.PvUClassifier(plan=SMALL).fit(frame, S)
    tb.save(model, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    assert again.features_ == model.features_
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_codes_of_earlier_versions_become_features(tmp_path):
    frame = FRAME.assign(day=pd.date_range("2020-01-01", periods=len(FRAME)))
    ticks = frame.assign(
        day=frame["day"].astype("datetime64[us]").astype("int64"), town=[1, 0] * 80
    )
    model = tb.PvUClassifier(plan=SMALL).fit(ticks.to_numpy(), S)
    tb.save(model, tmp_path / "m")
    told = json.loads((tmp_path / "m/model.json").read_bytes())
    fitted = told["model"]["$face"][2]
    assert fitted.pop("features_", 0) is None
    texts = {"town": {"$tuple": ["Rom", "Ulm"]}}
    fitted["codes_"] = {
        "$tuple": [{"$value": ["Code", {"name": name, "texts": texts.get(name)}]} for name in frame]
    }
    forge(tmp_path / "m", "model.json", json.dumps(told).encode())
    again = tb.load(tmp_path / "m")
    again.feature_names_in_ = np.array(list(frame), object)  # as when a frame is fitted
    found = again.predict_proba(frame)
    np.testing.assert_array_equal(found, model.predict_proba(ticks.to_numpy()))


def test_a_folder_tells_what_it_is(folder):
    about = inspect_model(folder)
    assert (about.kind, about.format, about.topbin) == ("TEDnClassifier", 2, tb.__version__)
    assert set(about.files) == {"model.json", "arrays.npz"}
    assert about.versions["numpy"] == np.__version__
    assert about.lines()[0] == "model           TEDnClassifier"
    told = about.to_dict()
    assert list(told) == ["class", "topbin", "format", "versions", "files"]
    assert (told["class"], told["files"]) == (about.kind, about.files)


def test_the_sums_are_those_of_sha256sum(folder):
    check = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True)
    assert check.returncode == 0


def test_an_existing_folder_is_kept_unless_forced(fitted, folder):
    with fails("TB104", "there already"):
        tb.save(fitted["logistic"], folder)
    tb.save(fitted["logistic"], folder, force=True)
    assert isinstance(tb.load(folder).estimator, LogisticRegression)


# What may not be saved


class Planted(LogisticRegression):
    pass


class TEDnClassifier(tb.TEDnClassifier):
    pass


def test_types_outside_the_list_are_refused_by_name_and_nothing_is_written(tmp_path):
    with fails(
        "TB111", "not on the list of types that are safe to store", "test_models.TEDnClassifier"
    ):
        tb.save(TEDnClassifier(), tmp_path / "m")
    with fails("TB111", "sklearn.linear_model._logistic.LogisticRegression"):
        tb.save(LogisticRegression(), tmp_path / "m")
    bad = {
        "test_models.Planted": Planted(),
        "KDTree": KNeighborsClassifier(algorithm="kd_tree"),
        "builtins.method_descriptor": make_pipeline(
            FunctionTransformer(str.upper), LogisticRegression()
        ),
        "fractions.Fraction": 0,
    }
    for name, estimator in bad.items():
        model = tb.PvUClassifier(estimator, plan=SMALL)
        if estimator == 0:
            from fractions import Fraction

            model = tb.PvUClassifier(plan=SMALL, confidence=Fraction(1, 2))
        elif "KD" in name:
            model.fit(X, S)
        with fails("TB111", name, "not on the list"):
            tb.save(model, tmp_path / "m")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(), "sklearn.svm._classes.SVC"),
        (KNeighborsClassifier(weights=len), "builtins.builtin_function_or_method"),
        (GridSearchCV(LogisticRegression(), {}), "GridSearchCV"),
    ],
)
def test_models_whose_numbers_nobody_checks_are_refused_by_name(tmp_path, estimator, name):
    with fails("TB111", name, "not on the list"):
        tb.save(tb.PvUClassifier(estimator), tmp_path / "m")


# What may not be loaded


@pytest.mark.parametrize("name", ["model.json", "arrays.npz"])
def test_a_cut_or_changed_file_is_refused(folder, name):
    whole = (folder / name).read_bytes()
    for content in (whole[: len(whole) // 2], b"", whole[:-10] + b"0123456789"):
        (folder / name).write_bytes(content)
        with fails("TB110", name, "cut short or changed"):
            tb.load(folder)


@pytest.mark.parametrize("name", ["model.json", "arrays.npz"])
def test_a_cut_file_with_a_sum_made_to_fit_is_refused(folder, name):
    whole = (folder / name).read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"\x80\x04K*."):
        forge(folder, name, content)
        with fails("TB110"):
            tb.load(folder)


def test_missing_files_and_folders(folder, tmp_path):
    with fails("TB101", "there is no folder"):
        tb.load(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with fails("TB110", "it has no SHA256SUMS"):
        tb.load(tmp_path / "empty")
    (folder / "arrays.npz").unlink()
    with fails("TB110", "it has no arrays.npz"):
        tb.load(folder)
    (folder / "arrays.npz").mkdir()
    with fails("TB110", "cannot be read: Is a directory"):
        tb.load(folder)
    (folder / "SHA256SUMS").write_text("")
    with fails("TB110", "names no model.json"):
        tb.load(folder)


@pytest.mark.parametrize("line", ["x", "0" * 64 + "  evil.pkl", "0" * 64 + "  ../../etc/passwd"])
def test_sums_name_only_our_files(folder, line):
    with (folder / "SHA256SUMS").open("a") as handle:
        handle.write(line + "\n")
    with fails("TB110", "names a file that does not belong to a model"):
        tb.load(folder)


@pytest.mark.parametrize("number", [0, 3, "1", None, True])
def test_another_format_says_why_not(folder, number):
    told = json.loads((folder / "model.json").read_bytes())
    forge(folder, "model.json", json.dumps({**told, "format": number, "topbin": "9.9"}).encode())
    with fails("TB112", "saved by topbin 9.9", f"format {number}", "reads format 2"):
        tb.load(folder)


FIRED = []


class Bomb:
    def __reduce__(self):
        return (FIRED.append, ("fired",))


def test_a_pickle_in_an_array_file_is_never_opened(folder):
    buffer = BytesIO()
    np.savez(buffer, a0=np.array([Bomb()], object))
    forge(folder, "arrays.npz", buffer.getvalue())
    with fails("TB110", "cannot be loaded", "allow_pickle=False"):
        tb.load(folder)
    forge(folder, "arrays.npz", pickle.dumps(Bomb()))
    with fails("TB110", "cannot be loaded"):
        tb.load(folder)
    assert FIRED == []


def forged_node(folder, node):
    told = json.loads((folder / "model.json").read_bytes())
    forge(folder, "model.json", json.dumps({**told, "model": node}).encode())


@pytest.mark.parametrize(
    ("node", "code", "words"),
    [
        ({"$face": ["os.system", {}, {}]}, "TB111", "'os.system'"),
        ({"$value": ["Popen", {}]}, "TB111", "'Popen'"),
        ({"$simple": ["SVC", []]}, "TB111", "'SVC'"),
        ({"$object": ["Planted", []]}, "TB111", "'Planted'"),
        ({"$object": ["LogisticRegression", [["fit", 1]]]}, "TB110", "no attribute 'fit'"),
        ({"$face": ["TEDnClassifier", {}, {"__class__": 1}]}, "TB110", "no attribute"),
        ({"$face": ["TEDnClassifier", {}, {"fit_pu": 1}]}, "TB110", "no attribute"),
        ({"$face": ["TEDnClassifier", {"n_jobs": 10**9}, {}]}, "TB110", "n_jobs"),
        ({"$function": "system"}, "TB111", "'system'"),
        ({"$named": "TEDnClassifier"}, "TB111", "'TEDnClassifier'"),
        ({"$dtype": [True, "O"]}, "TB111", "'O'"),
        (7, "TB110", "holds no model"),
        ({"$reduce": ["os.system", "true"]}, "TB110", "unknown kind"),
        ({"a": 1, "b": 2}, "TB110", "unknown kind"),
        ({"$part": 99}, "TB110", "unknown kind"),
        ({"$array": "a99"}, "TB110", "KeyError"),
        ({"$value": ["Alarm", {"code": "x"}]}, "TB110", "TypeError"),
        ({"$face": ["TEDnClassifier", {"nonsense": 1}, {}]}, "TB110", "TypeError"),
    ],
)
def test_a_forged_description_is_refused(folder, node, code, words):
    forged_node(folder, node)
    with fails(code, words):
        tb.load(folder)


def test_a_class_that_is_none_of_ours(folder):
    told = json.loads((folder / "model.json").read_bytes())
    forge(folder, "model.json", json.dumps({**told, "class": "Evil"}).encode())
    with fails("TB111", "'Evil'"):
        tb.load(folder)


def test_other_versions_are_named_when_loading_fails(folder):
    told = json.loads((folder / "model.json").read_bytes())
    told["versions"]["numpy"] = "0.1"
    told["model"] = {"$array": "a99"}
    forge(folder, "model.json", json.dumps(told).encode())
    with fails("TB110", f"saved with numpy 0.1 (here {np.__version__}), which may be why"):
        tb.load(folder)


def test_a_damaged_encoder_is_refused(fitted, tmp_path):
    encoder = fit_features(Batch.from_frame(FRAME))
    tb.save(fitted["logistic"], tmp_path / "m", encoder=encoder)
    forge(tmp_path / "m", "encoder.json", b"{}")
    with fails("TB110", "the stored encoder is damaged"):
        load_encoder(tmp_path / "m")


@needs_lightgbm
def test_a_forged_booster_is_refused(fitted, tmp_path):
    tb.save(fitted["lightgbm"], tmp_path / "m")
    (tmp_path / "m" / "boosters.json").read_text()
    texts = json.loads((tmp_path / "m" / "boosters.json").read_bytes())
    for old, new in (("left_child=", "left_child=9"), ("max_feature_idx=2", "max_feature_idx=0")):
        assert old in texts[0]
        forged = [texts[0].replace(old, new, 1), *texts[1:]]
        forge(tmp_path / "m", "boosters.json", json.dumps(forged).encode())
        with fails("TB110", "damaged or forged"):
            tb.load(tmp_path / "m")
    blank = [text.replace("objective=binary", "objective=nonsense") for text in texts]
    forge(tmp_path / "m", "boosters.json", json.dumps(blank).encode())
    with fails("TB110", "its header is not one that LightGBM writes"):
        tb.load(tmp_path / "m")


@needs_lightgbm
def test_an_unfitted_lightgbm_and_its_best_iteration_come_back(tmp_path):
    tb.save(tb.TEDnClassifier(lightgbm(num_attached=7)), tmp_path / "m")
    assert tb.load(tmp_path / "m").estimator.num_attached == 7
    model, attached = lightgbm().fit(X, S), Attachments()
    model.booster_.best_iteration = 2
    again = unpack(json.loads(json.dumps(pack(model, attached))), attached)
    assert again.booster_.best_iteration == 2
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@needs_torch
def test_a_users_net_must_be_passed_and_must_fit(fitted, tmp_path):
    from torch import nn

    tb.save(fitted["own net"], tmp_path / "m")
    with fails("TB111", "your own net torch.nn.modules.container.Sequential", "net="):
        tb.load(tmp_path / "m")
    with fails("TB110", "the stored weights are of another net"):
        tb.load(tmp_path / "m", net=nn.Linear(3, 1))


@needs_torch
def test_rows_that_are_not_tables_keep_their_shape(tmp_path):
    images = np.random.default_rng(0).normal(size=(60, 1, 8, 8)).astype("float32")
    model = tb.PvUClassifier("allconv", plan=NetPlan(epochs=1)).fit_pu(images[:30], images[30:])
    tb.save(model, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(images), model.predict_proba(images))
    with fails("TB005", "a row of X has shape"):
        again.predict(images[:, :, :4])


def test_without_the_packages_the_extra_is_named(fitted, tmp_path, monkeypatch):
    boosted = {name: name for name in ("lightgbm", "xgboost", "catboost")}
    for name, missing in {**boosted, "nnpu net": "safetensors.torch"}.items():
        if name in fitted:
            tb.save(fitted[name], tmp_path / name)
            with monkeypatch.context() as patch:
                patch.setitem(sys.modules, missing, None)
                with fails("TB011", "pip install"):
                    tb.load(tmp_path / name)


def test_versions_leave_out_what_is_not_installed(monkeypatch):
    monkeypatch.setattr(models, "PACKAGES", ("numpy", "no-such-package"))
    assert set(models._versions()) == {"python", "numpy"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        -1.5,
        float("inf"),
        (1, "a", [True]),
        {"a": 1, 2: (3.0,)},
        {"$face": 1},
        np.float32(0.1),
        np.str_("x"),
        np.array([1, 2], ">i4"),
        np.array(["a", "bc"]),
        np.array([["x", 1], [None, 2.5]], object),
        csr_array(np.eye(2)),
    ],
)
def test_values_come_back(value):
    attached = Attachments()
    again = unpack(json.loads(json.dumps(pack(value, attached))), attached)
    assert type(again) is type(value)
    if hasattr(value, "toarray"):
        value, again = value.toarray(), again.toarray()
    np.testing.assert_equal(again, value)


def test_nan_comes_back():
    assert np.isnan(unpack(pack(float("nan"), Attachments()), Attachments()))


def test_every_named_class_is_there():
    for table in (safe.VALUES, safe.FACES, safe.SKLEARN, safe.NAMED, safe.FUNCTIONS):
        for name in table:
            needs = "torch" if name in ("NetModel", "Optim") else "numpy"
            if find_spec(needs):
                assert store._built(table, name).__name__ == RENAMED.get(name, name)


def test_a_pipeline_around_a_model_is_told_to_go_inside(tmp_path):
    for last, words in (
        (tb.TEDnClassifier(), "Put the pipeline inside, TEDnClassifier(make_pipeline(...))"),
        (LogisticRegression(), "not on the list of types"),
    ):
        with fails("TB111", words):
            tb.save(make_pipeline(StandardScaler(), last), tmp_path / "model")


def test_half_a_letter_in_a_name_can_be_stored():
    """As found by forging: such a name came from no table, but an export must not break on it."""
    for names in (["é", "\ud800"], ["é"], ["a"]):
        assert json.loads(models._json(names)) == names
    assert "é" in models._json(["é"]).decode()
