"""Excel workbooks: types of cells, which sheet, blanks and errors, and what is refused."""

import datetime as dt

import pandas as pd
import pytest
from coded import fails

from topbin.data import open_table, read_table

openpyxl = pytest.importorskip("openpyxl")
ROWS = [
    ("amount", "town", "day", "paid", "note"),
    (12.5, "Ulm", dt.datetime(2024, 1, 31), True, 7),
    (None, "#N/A", dt.datetime(2024, 2, 1), False, "x"),
    (3, "Köln", None, True, None),
]


@pytest.fixture
def write(tmp_path):
    def book(name="a.xlsx", **sheets):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, rows in sheets.items():
            sheet = made.create_sheet(title)
            for row in rows:
                sheet.append(row)
        made.save(tmp_path / name)
        return tmp_path / name

    return book


def test_cells_keep_their_types_and_errors_are_missing(write):
    found = read_table(write(data=ROWS, empty=[], title_only=[("only", "names")]))
    kinds = "number", "string", "date", "boolean", "string"
    assert list(found.kinds.values()) == list(kinds)
    assert found.frame["amount"].fillna(-1).tolist() == [12.5, -1, 3]
    assert found.frame["town"].isna().tolist() == [False, True, False]
    assert found.frame["note"][:2].tolist() == ["7", "x"]
    assert str(found.frame["day"][0]) == "2024-01-31 00:00:00"


def test_rows_begin_below_the_first_line_that_is_not_blank(write):
    rows = [(), (None, None), *ROWS, (None,) * 5, (1, "Rom", None, None, None)]
    assert read_table(write(data=rows)).rows == 4


def test_of_several_sheets_a_query_names_one(write):
    path = write(jan=ROWS, feb=ROWS[:3])
    with fails("TB113", "2 tables", '"feb", "jan"', "sql="):
        open_table(path)
    assert read_table(path, sql="select * from feb").rows == 2
    assert read_table(path, sql="select * from jan union all select * from feb").rows == 5
    with fails("TB113", "the query fails"):
        read_table(path, sql="select * from march")


def test_several_workbooks_are_one_table(write):
    paths = [write("1.xlsx", data=ROWS), write("2.xlsx", data=ROWS)]
    table = open_table(paths)
    assert (table.rows, len(table.placed_parts())) == (6, 2)


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ([], "TB001", "no sheet"),
        ([("a", None), (1, 2)], "TB102", "column 2"),
        ([("a", "A"), (1, 2)], "TB115", "two spellings"),
    ],
)
def test_what_is_refused_says_why(write, rows, code, words):
    with fails(code, words):
        open_table(write(data=rows))


def test_a_file_that_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("a,b\n1,2\n")
    with fails("TB102", "not an Excel workbook"):
        open_table(tmp_path / "a.xlsx")


def test_it_is_the_same_table_as_the_frame(write):
    frame = pd.DataFrame({"x": [1.5, 2.0], "town": ["a", "b"]})
    path = write(data=[tuple(frame), *frame.itertuples(index=False, name=None)])
    assert read_table(path).hash() == read_table(frame).hash()
