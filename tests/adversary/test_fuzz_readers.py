"""Damaged tables of each text format and of parquet, as `fit` and `alpha` read them."""

from fuzz_readers import FORMATS, fuzz
from test_fuzz_folders import TIMES, assert_harmless


def test_damaged_tables_are_read_or_refused_with_a_code(tmp_path):
    some = range(TIMES // 10 + 1, TIMES)
    assert_harmless(tmp_path, fuzz, tmp_path, FORMATS, read=some)
