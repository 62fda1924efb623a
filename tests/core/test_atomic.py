"""Files appear whole or not at all; a folder in use is refused; the disk's no is a sentence."""

import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys

import pytest
from coded import fails

from topbin.core import atomic
from topbin.core.atomic import lock, new_file, new_folder, remove_parts, write_text
from topbin.core.errors import FileError, InputError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_with_missing_parents(tmp_path):
    write_text(tmp_path / "a ü" / "b" / "x.txt", "1\r\n")
    assert (tmp_path / "a ü" / "b" / "x.txt").read_bytes() == b"1\r\n"
    assert names(tmp_path / "a ü" / "b") == ["x.txt"]


def test_an_existing_file_is_refused_and_kept(tmp_path):
    target = tmp_path / "x.txt"
    target.write_text("old")
    with fails("TB104", "the file", "x.txt", "is there already"):
        write_text(target, "new")
    assert target.read_text() == "old"
    write_text(target, "new", force=True)
    assert target.read_text() == "new"


def test_a_failing_block_leaves_the_old_file_and_no_part(tmp_path):
    target = tmp_path / "x.txt"
    target.write_text("old")
    with pytest.raises(AttributeError), new_file(target, force=True) as part:
        part.write_text("half").fail()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["x.txt"]


def test_a_name_of_255_bytes_works(tmp_path):
    write_text(tmp_path / ("n" * 255), "x")
    assert names(tmp_path) == ["n" * 255]


def test_the_umask_decides_who_may_read(tmp_path):
    write_text(tmp_path / "x", "x")
    (tmp_path / "y").write_text("y")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode


def test_a_folder_appears_whole(tmp_path):
    target = tmp_path / "run"
    with new_folder(target) as part:
        (part / "model").mkdir()
        (part / "model" / "a").write_text("a")
        assert not target.exists()
    assert (target / "model" / "a").read_text() == "a"
    assert names(tmp_path) == ["run"]


def test_a_failing_folder_block_leaves_nothing(tmp_path):
    with pytest.raises(AttributeError), new_folder(tmp_path / "run") as part:
        (part / "a").write_text("a").fail()
    assert names(tmp_path) == []


def test_an_existing_folder_is_refused_and_replaced_with_force(tmp_path):
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("old")
    with fails("TB104", "the folder"), new_folder(target):
        pass
    with new_folder(target, force=True) as part:
        (part / "new").write_text("new")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["run"]


def test_a_folder_that_cannot_be_renamed_puts_the_old_one_back(tmp_path, monkeypatch):
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("old")
    real, calls = os.replace, []

    def replace(source, to):
        calls.append(to)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        real(source, to)

    monkeypatch.setattr(atomic.os, "replace", replace)
    with fails("TB105", "Input/output error"), new_folder(target, force=True) as part:
        (part / "new").write_text("new")
    assert names(target) == ["old"]
    assert names(tmp_path) == ["run"]


def test_a_full_disk_is_a_coded_error(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with fails("TB105", "cannot write", "big", "larger than allowed"):
            write_text(tmp_path / "big", "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EACCES, "permission is denied"),
    ],
)
def test_what_the_disk_says_becomes_a_sentence(tmp_path, monkeypatch, number, words):
    def replace(source, target):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic.os, "replace", replace)
    with fails("TB105", words, "Nothing was left half-written"):
        write_text(tmp_path / "x", "x")
    assert names(tmp_path) == []


def test_a_path_through_a_file_is_a_coded_error(tmp_path):
    (tmp_path / "file").write_text("x")
    for write in (new_file, new_folder):
        with fails("TB105", "a part of the path is a file"), write(tmp_path / "file" / "x"):
            pass


def test_a_target_that_is_a_folder_cannot_become_a_file(tmp_path):
    (tmp_path / "x").mkdir()
    with fails("TB105"):
        write_text(tmp_path / "x", "x", force=True)


def test_a_coded_error_inside_the_block_keeps_its_code(tmp_path):
    with fails("TB001"), new_file(tmp_path / "x"):
        raise InputError("TB001", "no rows.")


def test_two_runs_into_one_folder_are_refused(tmp_path):
    with lock(tmp_path):
        with fails("TB107", "another run is writing to"), lock(tmp_path):
            pass
        assert names(tmp_path) == [".lock"]
    assert names(tmp_path) == []
    with lock(tmp_path):
        assert names(tmp_path) == [".lock"]


def test_a_lock_file_that_was_removed_under_us_is_taken_again(tmp_path, monkeypatch):
    real, removed = fcntl.flock, []

    def take_and_lose(held, operation):
        real(held, operation)
        if not removed:
            removed.append(True)
            (tmp_path / ".lock").unlink()

    monkeypatch.setattr(fcntl, "flock", take_and_lose)
    with lock(tmp_path), fails("TB107"), lock(tmp_path):
        pass
    assert removed


def test_a_lock_in_a_folder_that_is_not_there(tmp_path):
    with fails("TB105", "cannot write", "no run"), lock(tmp_path / "no run"):
        pass


def test_a_killed_run_leaves_no_lock(tmp_path):
    code = (
        "import sys, time; from topbin.core.atomic import lock\n"
        "with lock(sys.argv[1]): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "held\n"
        with fails("TB107"), lock(tmp_path):
            pass
        run.send_signal(signal.SIGKILL)
        run.wait()
    with lock(tmp_path):
        pass


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    write_text(tmp_path / "x", "old")
    code = (
        "import sys, time; from topbin.core.atomic import new_file\n"
        "with new_file(sys.argv[1], force=True) as part:\n"
        "    part.write_text('half'); print('written', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "x")], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "written\n"
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert (tmp_path / "x").read_text() == "old"
    assert len(names(tmp_path)) == 2
    remove_parts(tmp_path)
    assert names(tmp_path) == ["x"]


def test_errors_survive_a_process_border():
    import pickle

    error = pickle.loads(pickle.dumps(FileError("TB105", "cannot write.")))
    assert (error.code, str(error)) == ("TB105", "TB105 cannot write.")
