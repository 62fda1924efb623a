"""Files are found and compared before a row is read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topbin.core.errors import InputError
from topbin.engines import Local, tails_from

COLUMNS = {"score": "score", "label": "label"}


class Idle:
    """An engine that must not be asked."""

    def total(self, task, parts, shared):
        raise AssertionError("work began")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"score": [1.0]}, 'TB106 the tables have different columns: .*b.parquet" has no "label"'),
        ({"score": [1.0], "label": ["x"]}, 'TB106 column "label" holds numbers .* in .* and text'),
        ({"score": ["x"], "label": [1]}, 'TB106 column "score" holds numbers .* in .* and text'),
        ({"score": [1.0], "label": [[1]]}, 'TB106 column "label" holds numbers .* in .* and lists'),
    ],
)
def test_differing_files_are_refused_before_any_work(tmp_path, second, message):
    pq.write_table(pa.table({"score": [1.0, 2.0], "label": [1, 0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table(second), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=message):
        tails_from(Idle(), str(tmp_path / "*.parquet"), **COLUMNS)


def test_scores_must_be_numbers_and_columns_must_be_there(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"score": ["x"], "label": [1]}), path)
    with pytest.raises(InputError, match=r'TB006 scores must be numbers; column "score" .* string'):
        tails_from(Idle(), path, **COLUMNS)
    pq.write_table(pa.table({"score": [1.0], "label": [[1]]}), tmp_path / "b.parquet")
    with pytest.raises(
        InputError, match=r'TB006 column "label" of .* is a BIGINT\[\], not a value'
    ):
        tails_from(Idle(), tmp_path / "b.parquet", **COLUMNS)
    with pytest.raises(InputError, match=r'TB103 .* has no column "lable".* mean "label"'):
        tails_from(Idle(), path, score="score", label="lable")


def test_a_file_whose_labels_are_all_missing_fits_any_other(tmp_path):
    pq.write_table(pa.table({"score": [1.0, 2.0], "label": [1, None]}), tmp_path / "a.parquet")
    blank = pa.table({"score": pa.array([0.5], pa.float32()), "label": pa.nulls(1)})
    pq.write_table(blank, tmp_path / "b.parquet")
    found = tails_from(Local(), str(tmp_path / "*.parquet"), **COLUMNS)
    assert (found.n_p, found.n_u, found.cuts.dtype) == (1, 2, np.float64)


def test_a_broken_footer_is_named(tmp_path):
    path = tmp_path / "a b.parquet"
    path.write_bytes(b"PAR1 nothing else")
    with pytest.raises(InputError, match=r'TB102 ".*a b.parquet" cannot be read: '):
        tails_from(Idle(), path, **COLUMNS)
