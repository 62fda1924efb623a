"""What people try first and get wrong: each is one true sentence that says what to do."""

import numpy as np
import pytest
from asked import asked
from click.testing import CliRunner
from coded import fails
from pictures import bars, folders

import topbin as tb
from topbin.cli import main
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.job.prepare import prepare
from topbin.mpe.estimate import add_alarms
from topbin.store.runs import SETTINGS


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A folder of texts with a folder of known ones inside."""
    monkeypatch.chdir(tmp_path)
    for side, size in (("docs/yes", 4), ("docs/rest", 6)):
        (tmp_path / side).mkdir(parents=True)
        for k in range(size):
            (tmp_path / side / f"letter {k}.txt").write_text(f"dear {side}, this is letter {k}")
    return tmp_path


def said(*given, code=2):
    done = CliRunner().invoke(main, [*map(str, given)])
    assert done.exit_code == code, done.output
    return done.stderr.replace("\n", " ")


def test_an_unfinished_run_is_to_be_resumed(texts):
    (texts / "run").mkdir()
    (texts / "run" / SETTINGS).write_text('label = "x"\n')
    told = said("fit", "t.csv", "--label", "x", "-o", "run")
    assert told.startswith('TB104 the folder "run" is there already, with a run that is')
    assert "--resume" in told
    assert "--force, which discards" in told


@pytest.mark.parametrize("second", ["docs/yes", "docs/yes/", "./docs/yes"])
def test_the_same_folder_twice_is_refused(texts, second):
    told = said("fit", "--positives", "docs/yes", "--unlabeled", second)
    assert told.startswith("TB139")
    assert not (texts / "run").exists()


def test_known_positives_inside_the_unlabeled_folder_are_left_out_there(texts):
    data = prepare(asked("docs", positives="docs/yes"))
    assert (data.labels.n_p, data.labels.n_u) == (4, 6)
    told = '4 files are also among the known positives in "docs/yes" and were left out'
    assert told in data.findings[0].sentence
    with fails("TB139", 'every file in "docs/yes"'):
        prepare(asked("docs/yes", positives="docs"))


def test_own_scores_are_never_called_reversed():
    scores = np.linspace(0, 1, 50), np.linspace(1, 2, 50)
    given = AlphaEstimate(alpha=1.0, n_p=50, n_u=50, method="bbe")
    for crossfitted, code in ((False, "reversed-scores"), (True, "lower-scores")):
        found = add_alarms(given, Evidence.of(*scores, crossfitted=crossfitted), None)
        told = {alarm.code: alarm.message for alarm in found.alarms}
        assert code in told
        assert ("Are the scores reversed" in str(told)) is not crossfitted


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["docs/yes", "docs/rest"], "--positives docs/yes --unlabeled docs/rest"),
        (["--positives", "--unlabeled", "docs/rest"], "--positives has no value"),
        (["--positives", "docs/yes"], "seen: --positives docs/yes"),
        (["docs/rest", "--label", "x", "--positives", "docs/yes"], "seen: docs/rest --label x"),
        ([], "seen: neither"),
    ],
)
def test_the_usage_says_what_was_seen(texts, given, told):
    assert told in said("fit", *given)


def test_too_few_positives_are_counted_in_one_message(texts):
    (texts / "one").mkdir()
    (texts / "docs/yes/letter 0.txt").rename(texts / "one/letter 0.txt")
    # The form of Python: the unlabeled rows first.
    both = [said("fit", "docs/rest", "--positives", "one", *more, code=1)
            for more in (["--dry-run"], [])]  # fmt: skip
    assert both[0] == both[1]
    assert both[0].startswith("TB003 there is only 1 known positive; a fit needs at least 3")


def test_one_text_is_not_printed_as_names_of_columns(texts):
    (texts / "one.txt").write_text("Dear Sir, " + "many thanks for all of it " * 20 + "\nbye\n")
    told = said("fit", "--positives", "one.txt", "--unlabeled", "docs/rest", code=1)
    assert len(told) < 400
    assert "in a folder, each .txt file is read as one text" in told


def test_images_in_python(tmp_path):
    folders(tmp_path, 3, 5)
    known, rest = tmp_path / "known", tmp_path / "rest"
    with fails("TB130", "the list of images is empty"):
        tb.fit([], positives=known)
    with fails("TB008", "the source is missing"):
        tb.fit(positives=known)
    with fails("TB008", "images need labels", "topbin.fit(images, labels)"):
        tb.fit(bars(4, True))
    with fails("TB134", "as one image has", "image[None]"):
        tb.fit(bars(4, True)[0], [1, 0, 0, 0])
    for i in (1, 2):
        (known / f"é 00{i}.png").rename(rest / f"known {i}.png")
    with fails("TB003", "only 1 known positive"):
        tb.fit(tmp_path, positives=known)
