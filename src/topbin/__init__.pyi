from . import core as core
from . import evaluate as evaluate
from . import io as io
from . import learn as learn
from . import mpe as mpe
from . import plots as plots
from .core import AlphaEstimate as AlphaEstimate
from .core import Tails as Tails
from .core import read_labels as read_labels
from .evaluate import metrics as metrics
from .io.models import load as load
from .io.models import save as save
from .job.fit import fit as fit
from .job.result import Result as Result
from .learn.classifiers import CVIRClassifier as CVIRClassifier
from .learn.classifiers import DEDPULClassifier as DEDPULClassifier
from .learn.classifiers import ElkanNotoClassifier as ElkanNotoClassifier
from .learn.classifiers import NNPUClassifier as NNPUClassifier
from .learn.classifiers import PvUClassifier as PvUClassifier
from .learn.classifiers import TEDnClassifier as TEDnClassifier
from .learn.classifiers import UPUClassifier as UPUClassifier
from .mpe.estimate import estimate_alpha as estimate_alpha
from .mpe.estimator import AlphaEstimator as AlphaEstimator
from .plots.history import HistoryDisplay as HistoryDisplay
from .plots.scores import ScoreDisplay as ScoreDisplay
from .plots.top_bin import TopBinDisplay as TopBinDisplay

__version__: str
