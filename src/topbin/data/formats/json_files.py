"""Json files: an array of objects, or one object per line."""

from dataclasses import replace
from functools import partial

from topbin.core.errors import InputError
from topbin.data.find import Format
from topbin.data.formats import duck
from topbin.data.formats.duck import Duck, DuckPart, literal
from topbin.data.schema import kinds_of


def _open(connection: Duck, path: str, name: str, layout: str) -> DuckPart:
    file = f"{duck.path_literal(path)}, format={literal(layout)}, hive_partitioning=false"
    part = duck.open_relation(connection, path, name, f"read_json({file}, sample_size=-1)")
    if list(part.own) == ["json"]:
        raise InputError("TB102", f"{name} does not hold JSON objects, one per row.")
    dates = [column for column, kind in kinds_of(part.own).items() if kind == "date"]
    texts = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in dates)
    for column in dates:  # DuckDB reads "infinity" in one as 1900-01-01
        test = duck.INFINITE.format(c=duck.identifier(column))
        query = f"select 1 from read_json({file}, columns={{{texts}}}) where {test} limit 1"
        if connection.rows(query):
            raise InputError(
                "TB102", f'{name} has a date without end in the column "{column}". Leave it blank.'
            )
    return replace(part, first_line=1)


FORMATS = (
    Format("json", (".json",), partial(_open, layout="auto")),
    Format("jsonl", (".jsonl", ".ndjson"), partial(_open, layout="newline_delimited")),
)
