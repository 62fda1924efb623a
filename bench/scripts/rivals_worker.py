"""One library's methods on exported PU tables; runs in that library's own environment.

    <python> bench/scripts/rivals_worker.py <library> <folder>

Reads <folder>/<name>.npz (X_p, X_u, X_test; no true label anywhere) and writes a line of JSON and,
for a classifier, its labels for the test rows. It imports only numpy and the library.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np

RESAMPLES = 50  # pulearn's default, 200, takes four times as long
KM_ROWS = 500  # of P and of U; KM is cubic


def among_unlabeled(pi, y):
    """α from a share π among all rows: what is left of π·n without the labeled rows."""
    return (pi * y.size - y.sum()) / (y.size - y.sum())


def pulearn_prior(name):
    def run(X, y, X_test):
        from pulearn import HistogramMatchPriorEstimator, ScarEMPriorEstimator

        made = {"histogram": HistogramMatchPriorEstimator, "EM": ScarEMPriorEstimator}[name]()
        if name == "EM":  # its bootstrap would take minutes
            return among_unlabeled(made.estimate(X, y).pi, y), None, None
        found = made.bootstrap(X, y, n_resamples=RESAMPLES, random_state=0)
        ends = found.confidence_interval.lower, found.confidence_interval.upper
        return among_unlabeled(found.pi, y), [among_unlabeled(end, y) for end in ends], None

    return run


def pulearn_elkan_noto(X, y, X_test):
    from pulearn import ElkanotoPuClassifier
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(200, random_state=0)
    model = ElkanotoPuClassifier(forest, hold_out_ratio=0.2, random_state=0).fit(X, y)
    return among_unlabeled(y.mean() / model.c, y), None, model.predict(X_test) == 1


def pulearn_bagging(X, y, X_test):
    from pulearn import BaggingPuClassifier

    model = BaggingPuClassifier(n_estimators=100, random_state=0).fit(X, y)
    return None, None, model.predict(X_test) == 1


def pulearn_nnpu(share):
    def run(X, y, X_test):
        from pulearn import NNPUClassifier, ScarEMPriorEstimator

        prior = ScarEMPriorEstimator().estimate(X, y).pi
        if share == "U":  # what it asks for; it must be inside (0, 1)
            prior = min(0.99, max(0.01, among_unlabeled(prior, y)))
        model = NNPUClassifier(prior=prior, random_state=0).fit(X, y)
        return None, None, model.predict(X_test) == 1

    return run


def toolbox_prior(name):
    def run(X, y, X_test):
        from pu_toolbox import ClassPriorEstimator, KernelMeanPriorEstimator, ReCPEEstimator

        km = KernelMeanPriorEstimator(variant="km2", max_samples_per_group=KM_ROWS, random_state=0)
        made = {
            "penL1": ClassPriorEstimator(),
            "KM2": km,
            "ReCPE": ReCPEEstimator(base_estimator=km),
        }
        return made[name].fit(X, y).estimate(), None, None

    return run


def toolbox_pipeline(X, y, X_test):
    from pu_toolbox import PUPipeline

    report = PUPipeline().fit_evaluate(X, y)
    return report.prior.value, None, report.final_model.predict(X_test) == 1


def topbin_default(X, y, X_test):
    import topbin as tb

    model = tb.TEDnClassifier(random_state=0).fit(X, y)
    return model.alpha_, list(model.estimate_.interval), model.predict(X_test) == 1


def topbin_bbe(X, y, X_test):
    import topbin as tb

    found = tb.AlphaEstimator(method="bbe").fit(X, y).estimate_
    return found.alpha, list(found.interval), None


METHODS = {
    "topbin": {"topbin (default)": topbin_default, "topbin BBE": topbin_bbe},
    "pulearn": {
        "pulearn histogram": pulearn_prior("histogram"),
        "pulearn EM": pulearn_prior("EM"),
        "pulearn Elkan-Noto": pulearn_elkan_noto,
        "pulearn bagging": pulearn_bagging,
        "pulearn nnPU (share of U)": pulearn_nnpu("U"),
        "pulearn nnPU (share of all)": pulearn_nnpu("all"),
    },
    "pu_toolbox": {
        "pu-toolbox PUPipeline": toolbox_pipeline,
        "pu-toolbox penL1": toolbox_prior("penL1"),
        "pu-toolbox KM2": toolbox_prior("KM2"),
        "pu-toolbox ReCPE": toolbox_prior("ReCPE"),
    },
}


def peak_mb(reset=False):
    """The most memory this process has had since the last reset (Linux), in MB."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
        return 0.0
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main():
    library, folder = sys.argv[1], Path(sys.argv[2])
    for module in (library, "sklearn.ensemble", "sklearn.linear_model"):
        import_module(module)  # so that no method pays for it
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as given:
            P, U, X_test = given["X_p"], given["X_u"], given["X_test"]
        X, y = np.concatenate([P, U]), np.repeat([1, 0], [len(P), len(U)])
        order = np.random.default_rng(0).permutation(y.size)
        for name in METHODS[library]:
            # One process per fit: what one leaves in memory is not counted for the next.
            with get_context("fork").Pool(1) as alone:
                row, called = alone.apply(fit, (library, name, X[order], y[order], X_test))
            if called is not None:
                np.save(folder / f"{file.stem}.{name}.npy", np.asarray(called, bool))
            print(json.dumps({"file": file.stem, **row}), flush=True)


def fit(library, name, X, y, X_test):
    """One method once: its answers with what they cost, and the labels it gives the test rows."""
    peak_mb(reset=True)
    began, row, called = time.process_time(), {"method": name}, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alpha, interval, called = METHODS[library][name](X, y, X_test)
        row |= {"alpha": alpha, "interval": interval, "error": ""}
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        row |= {"alpha": None, "interval": None, "error": f"{type(error).__name__}: {error}"}
    return row | {"seconds": time.process_time() - began, "mb": peak_mb()}, called


if __name__ == "__main__":
    main()
