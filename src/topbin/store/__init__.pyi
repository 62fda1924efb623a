from .models import inspect_model as inspect_model
from .models import load as load
from .models import load_encoder as load_encoder
from .models import save as save
from .runs import read_result as read_result
from .scorer import Scorer as Scorer
