"""The types that can be built from a file; there is no pickle, and no way around these lists.

A name in a file is looked up here, and nothing else is ever built. topbin's own classes
are `VALUES` and `FACES`. `SKLEARN` holds the scikit-learn types, and ours that inherit from one,
whose compiled code either reads no fitted positions, or whose positions `topbin.store.safe.trees`
checks. Support vector machines, KDTree and BallTree are not here: their compiled code trusts counts
that nobody checks.
"""


def _modules(text: str) -> dict[str, str]:
    """Class names with their modules, from lines of a module and its classes.

    >>> _modules("sklearn.svm: LinearSVC")
    {'LinearSVC': 'sklearn.svm'}
    """
    lines = (line.split(":") for line in text.strip().splitlines())
    return {name: module.strip() for module, names in lines for name in names.split()}


# `Code` is a Feature, `Posterior` a ProbabilityMap and `ImageClassifier` a TEDnClassifier, as
# earlier versions stored them.
VALUES = _modules("""
    topbin.core.estimate: Alarm AlphaEstimate
    topbin.core.evidence: Evidence
    topbin.core.posterior: AlphaPosterior
    topbin.core.tails: Tails
    topbin.learn.probabilities: ProbabilityMap Posterior
    topbin.learn.labeling.subtypes: Subtype Subtypes
    topbin.learn.labeling.scar: ScarTest
    topbin.learn.labeling.propensity: Propensity
    topbin.learn.open_set: ClassModels ClassShare KnownClasses NovelShare
    topbin.learn.loop: Epoch
    topbin.learn.crossfit: Chain Plan Ensemble
    topbin.data.features: Features Feature Dropped Code
    topbin.learn.defaults: NetPlan
    topbin.learn.net_fitting: NetModel
    topbin.learn.nets: Optim
""")
# Fields that earlier versions stored and that mean nothing any more.
GONE = {
    "Evidence": ("kappa", "chosen_of"),
    "AlphaEstimator": ("pure_fraction", "kappa"),
    "ImageClassifier": ("is_first",),
}
FACES = _modules("""
    topbin.learn.classifiers: AlphaEstimator CVIRClassifier DEDPULClassifier ElkanNotoClassifier
    topbin.learn.classifiers: NNPUClassifier PvUClassifier TEDnClassifier UPUClassifier
    topbin.learn.classifiers: ImageClassifier
    topbin.learn.labeling.propensity: SAREMClassifier
    topbin.learn.labeling.subtypes: SubtypesClassifier
    topbin.learn.open_set: OpenSetClassifier
    topbin.learn.net_fitting: NetScorer
""")
SKLEARN = _modules("""
    sklearn.calibration: CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration
    sklearn.compose: ColumnTransformer
    sklearn.decomposition: PCA TruncatedSVD
    sklearn.discriminant_analysis: LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis
    sklearn.dummy: DummyClassifier
    sklearn.ensemble: AdaBoostClassifier BaggingClassifier ExtraTreesClassifier VotingClassifier
    sklearn.ensemble: GradientBoostingClassifier HistGradientBoostingClassifier
    sklearn.ensemble: RandomForestClassifier
    sklearn.ensemble._hist_gradient_boosting.binning: _BinMapper
    sklearn.ensemble._hist_gradient_boosting.predictor: TreePredictor
    sklearn.feature_extraction.text: TfidfTransformer
    sklearn.feature_selection: SelectKBest SelectPercentile VarianceThreshold
    sklearn.gaussian_process: GaussianProcessClassifier
    sklearn.gaussian_process._gpc: _BinaryGaussianProcessClassifierLaplace
    sklearn.gaussian_process.kernels: ConstantKernel Matern Product RBF Sum WhiteKernel
    sklearn.impute: SimpleImputer
    sklearn.isotonic: IsotonicRegression
    sklearn.linear_model: LogisticRegression RidgeClassifier SGDClassifier
    sklearn.model_selection: KFold StratifiedKFold
    sklearn.naive_bayes: BernoulliNB ComplementNB GaussianNB MultinomialNB
    sklearn.neighbors: KNeighborsClassifier
    sklearn.neural_network: MLPClassifier
    sklearn.pipeline: FeatureUnion Pipeline
    sklearn.preprocessing: FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder
    sklearn.preprocessing: MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder
    sklearn.preprocessing: PolynomialFeatures QuantileTransformer RobustScaler StandardScaler
    sklearn.svm: LinearSVC
    sklearn.tree: DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier
    topbin.learn.defaults: WordRegression
""")
# Built by name alone: of a loss, scoring reads only how it makes probabilities.
NAMED = _modules("sklearn._loss.loss: ExponentialLoss HalfBinomialLoss HalfMultinomialLoss")
FUNCTIONS = _modules("sklearn.feature_selection: chi2 f_classif")
# Compiled objects that only a fit that goes on needs, and the version, which the folder keeps once.
NOT_KEPT = frozenset({"_loss_function_", "_optimizer", "_sklearn_version"})
