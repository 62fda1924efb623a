"""Audits in Label Studio and Argilla: the formats that these tools document, out and back."""

import json
import os

import pandas as pd
import pytest
from claims import claims, small_run
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.job.audits.answers import read_answered, record_answers
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit


def annotation(answer, **more):
    """As Label Studio exports a choice."""
    part = {
        "id": "Dx_aB91ISN",
        "from_name": "is_positive",
        "to_name": "row",
        "type": "choices",
        "value": {"choices": [answer]},
    }
    return {
        "id": 1001,
        "result": [part],
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": 4.288,
        "completed_by": 10,
        **more,
    }


def label_studio(tasks, answers):
    """Tasks as they were imported, with what people said of each."""
    return [
        {
            "id": k,
            "data": task["data"],
            "annotations": [annotation(answer) for answer in said],
            "predictions": [],
            "project": 83,
        }
        for k, (task, said) in enumerate(zip(tasks, answers, strict=True))
    ]


def argilla(records, answers):
    return [
        {
            **record,
            "responses": {"is_positive": [{"value": said, "user_id": "u"} for said in each]},
            "_server_id": "6f1c",
        }
        for record, each in zip(records, answers, strict=True)
    ]


EXPORT = {"label-studio": label_studio, "argilla": argilla}
ROW = {"label-studio": lambda one: one["data"]["row"], "argilla": lambda one: int(one["id"])}


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


def drawn(run, tool, n=30):
    draw_audit(run, n, run.parent / "tasks.json", tool=tool, seed=0)
    return json.loads((run.parent / "tasks.json").read_text())


def export(run, found):
    path = run.parent / "export.json"
    path.write_text(json.dumps(found))
    return path


def truth(rows):
    return [["yes" if claims()["amount"][row - 1] > 1.5 else "no"] for row in rows]


@pytest.mark.parametrize("tool", EXPORT)
def test_an_export_says_what_the_same_answers_in_a_table_say(run, tmp_path, tool):
    tasks = drawn(run, tool)
    rows = [ROW[tool](task) for task in tasks]
    answers = truth(rows)
    found = read_audit(run, export(run, EXPORT[tool](tasks, answers)))
    other = small_run(tmp_path / "other")
    draw_audit(other, 30, tmp_path / "audit.csv", seed=0)
    frame = pd.read_csv(tmp_path / "audit.csv")
    assert frame["row"].tolist() == rows
    frame.assign(is_positive=[said for (said,) in answers]).to_csv(
        tmp_path / "audit.csv", index=False
    )
    assert read_audit(other, tmp_path / "audit.csv") == found


@pytest.mark.parametrize("tool", EXPORT)
def test_tasks_show_the_row_and_no_score(run, tool):
    task = drawn(run, tool)[0]
    shown = task.get("data", task.get("fields"))["shown"]
    row = claims().iloc[ROW[tool](task) - 1]
    assert f"amount: {row['amount']}" in shown
    assert "nan" not in shown.lower()
    assert "None" not in shown
    assert not {"score", "probability", "is_positive"} & {
        line.partition(":")[0] for line in shown.splitlines()
    }


def test_disagreement_is_unsure_and_skipped_annotations_do_not_count(run):
    tasks = drawn(run, "label-studio")
    answers = truth(map(ROW["label-studio"], tasks))
    answers[0], answers[1] = ["yes", "no"], ["no", "no"]
    found = label_studio(tasks, answers)
    found[2]["annotations"] = [annotation("yes", was_cancelled=True)]
    read_audit(run, export(run, found))
    state = tb.audit(run).state
    said = [state.answers.get(ROW["label-studio"](task)) for task in tasks[:3]]
    assert said == ["unsure", "negative", None]  # what is blank is not kept


@pytest.mark.parametrize("tool", EXPORT)
def test_an_export_of_the_answered_rows_alone_is_read_and_the_others_add_up(run, tool):
    tasks = drawn(run, tool)
    answers = truth(map(ROW[tool], tasks))
    whole = EXPORT[tool](tasks, answers)
    first = read_audit(run, export(run, whole[:12]))
    assert first.n == 12
    assert read_audit(run, export(run, whole)).n == 30


@pytest.mark.parametrize("tool", EXPORT)
def test_rows_that_were_not_drawn_are_refused_and_nothing_is_saved(run, tool):
    tasks = drawn(run, tool)
    rows = {ROW[tool](task) for task in tasks}
    unlabeled = [k + 1 for k in range(400) if not claims()["known"][k]]
    other = next(row for row in unlabeled if row not in rows)
    where = tasks[0]["data"] if tool == "label-studio" else tasks[0]
    where["row" if tool == "label-studio" else "id"] = str(other)
    path = export(run, EXPORT[tool](tasks, [["yes"]] * 30))
    with fails("TB117", "1 answered row was not drawn", str(other)):
        read_audit(run, path)
    assert not tb.audit(run).state.answers
    given = read_answered(path)
    assert record_answers(run, given, model_only=True) == 30  # but they may teach the model
    assert tb.audit(run).state.undrawn_answers == {other: "positive"}


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda found: [*found, found[0]], "TB117", "twice"),
        (lambda found: [{"data": {"image": "a"}, "annotations": []}], "TB117", "not an export"),
        (lambda found: [{"annotations": 7}, *found], "TB117", "not an export"),
        (lambda found: [{"id": "x", "responses": {}}], "TB117", "not an export"),
        (lambda found: label_studio([found[0]], [["perhaps"]]), "TB002", "'perhaps'"),
    ],
)
def test_other_exports_are_refused(run, change, code, words):
    found = label_studio(drawn(run, "label-studio"), [["yes"]] * 30)
    with fails(code, words):
        read_audit(run, export(run, change(found)))
    assert not tb.audit(run).state.answers


def test_a_pipe_is_refused_at_once(run, tmp_path):
    draw_audit(run, 5, tmp_path / "drawn.csv")
    os.mkfifo(tmp_path / "answers.json")
    with fails("TB102", "not a regular file"):
        read_audit(run, tmp_path / "answers.json")


def test_a_json_file_of_another_kind_is_read_as_a_table(run):
    tasks = drawn(run, "label-studio")
    table = [{"row": task["data"]["row"], "is_positive": "no"} for task in tasks]
    assert read_audit(run, export(run, table)).n == 30
    with fails("TB101"):
        read_audit(run, run.parent / "gone.json")
    with fails("TB008", "tool must be one of label-studio, argilla"):
        draw_audit(run, 5, run.parent / "t.json", tool="paper")
    assert not (run.parent / "t.json").exists()


def test_the_command_draws_for_a_tool_and_says_what_is_next(run):
    done = CliRunner().invoke(main, ["audit", str(run), "--n", "10", "--tool", "label-studio"])
    assert done.exit_code == 0
    assert "export all tasks as JSON" in done.stdout
    tasks = json.loads((run / "label-studio.json").read_text())
    path = export(run, label_studio(tasks, [["no"]] * 10))
    done = CliRunner().invoke(main, ["audit", str(run), "--labels", str(path), "--json"])
    assert json.loads(done.stdout)["n"] == 10
