"""The types that may be built from a file; there is no pickle, and no way around these lists.

Only these are ever built: topbin's own classes (`VALUES`, `FACES`), what skops itself trusts, and
the scikit-learn types of `TRUSTED`, each read and found to hold numbers only. Trees also hold
positions, which `topbin.store.safe.trees` checks before they are used; those of KDTree and BallTree
it does not, so these are not here.
"""

VALUES = {
    "Alarm": "topbin.core.estimate",
    "AlphaEstimate": "topbin.core.estimate",
    "Evidence": "topbin.core.evidence",
    "Tails": "topbin.core.tails",
    "Posterior": "topbin.learn.posterior",
    "Epoch": "topbin.learn.loop",
    "Chain": "topbin.learn.crossfit",
    "Plan": "topbin.learn.crossfit",
    "Ensemble": "topbin.learn.crossfit",
    "Features": "topbin.data.features",
    "Feature": "topbin.data.features",
    "Dropped": "topbin.data.features",
    "Code": "topbin.data.features",  # a Feature, as earlier versions stored it
    "NetPlan": "topbin.learn.classifiers.plans",
    "NetModel": "topbin.learn.classifiers.nets",
    "Optim": "topbin.learn.backends.optim",
}
FACES = {
    "AlphaEstimator": "topbin.learn.classifiers.alpha",
    **dict.fromkeys(
        (
            "CVIRClassifier",
            "DEDPULClassifier",
            "ElkanNotoClassifier",
            "NNPUClassifier",
            "PvUClassifier",
            "TEDnClassifier",
            "UPUClassifier",
        ),
        "topbin.learn.classifiers",
    ),
}
# Models that are a few arrays need no skops, whose import takes seconds.
SIMPLE = {
    "LabelEncoder": "sklearn.preprocessing",
    "LogisticRegression": "sklearn.linear_model",
    "StandardScaler": "sklearn.preprocessing",
    "_SigmoidCalibration": "sklearn.calibration",
}
# Models around other models, which skops would have to store with a LightGBM one inside.
HOLDERS = {
    "Pipeline": "sklearn.pipeline",
    "CalibratedClassifierCV": "sklearn.calibration",
    "_CalibratedClassifier": "sklearn.calibration",
}
TRUSTED = frozenset(
    {
        "numpy.dtype",
        "sklearn._loss.link.IdentityLink",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfSquaredError",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Matern",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.gaussian_process.kernels.Sum",
        "sklearn.gaussian_process.kernels.WhiteKernel",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
    }
)
