"""result.json as plain values: what a run wrote, and what somebody else might have written."""

import json

from topbin.core.atomic import write_text
from topbin.store.runs import RESULT, SCHEMA, _sum_of, read_result, to_json


def result_of(folder):
    """What a run found, as plain values; read and checked as every verb does."""
    return read_result(folder).to_dict()


def forge_result(folder, content):
    """Write a result.json of any content, with a right sum."""
    content = json.loads(json.dumps({"schema": SCHEMA, **content}))
    content.pop("sum", None)
    write_text(folder / RESULT, to_json({**content, "sum": _sum_of(content)}), force=True)
