"""A new input format is one file and one line in the table of formats; then every verb reads it."""

from score_files import scored, whole

from topbin.data import read_table, table
from topbin.data.formats.duck import open_relation, path_literal
from topbin.data.paths import Format
from topbin.engines import Local, tails_from

# The file of the format. Rows are lines of "name=value" pairs: score=0.5 label=1


def open_pairs(connection, path, name):
    """A file of pairs, which DuckDB reads as text."""
    lines = "string_split(trim(content, chr(10)), chr(10))"
    text = f"read_text({path_literal(path)})"
    pair = "regexp_extract(line, '{0}=([^ ]*)', 1)::{1} as {0}"
    columns = f"{pair.format('score', 'double')}, {pair.format('label', 'int')}"
    return open_relation(
        connection,
        path,
        name,
        f"(select {columns} from (select unnest({lines}) as line from {text}))",
    )


# The line in the table of formats.
FORMATS = (*table.FORMATS, Format("pairs", (".pairs",), open_pairs))


def test_every_road_reads_the_new_format(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "FORMATS", FORMATS)
    rows = scored(300)
    lines = (f"score={s} label={y}" for s, y in zip(rows["score"], rows["label"], strict=True))
    (tmp_path / "a.pairs").write_text("\n".join(lines) + "\n")
    read = read_table(tmp_path / "a.pairs")
    assert read.kinds == {"score": "number", "label": "number"}
    assert read.frame["score"].tolist() == rows["score"].tolist()
    found = tails_from(Local(), tmp_path / "a.pairs", score="score", label="label")
    assert found == whole(rows)
