from .tables import Pair as Pair
from .tables import Schema as Schema
from .tables import Table as Table
from .tables import describe as describe
from .tables import iter_chunks as iter_chunks
from .tables import read_pair as read_pair
from .tables import read_table as read_table
