"""The command in a process of its own that has its imports behind it, for tests that stop it.

A server imports them once; each process is a fork of it. How the command starts is tested elsewhere
(tests/test_import.py and the tests of a new interpreter).
"""

import multiprocessing
import os
from contextlib import nullcontext

from topbin.cli import main
from topbin.store import runs

CONTEXT = multiprocessing.get_context("forkserver")
IMPORTED = ["pytest", "lightgbm", "matplotlib.pyplot", "topbin.job.fit", "topbin.cli.fit"]


def start(arguments, said, event=None, number=None, within=nullcontext):
    """Start the command; what it prints goes to the file `said`.

    Once this event, a stage and how much of it is done, is in events.jsonl, the process gets the
    signal of this number: at once, also on a busy machine. It runs within that context.
    """
    CONTEXT.set_forkserver_preload(IMPORTED)
    given = [str(each) for each in arguments], str(said), event, number, within
    process = CONTEXT.Process(target=_run, args=given)
    process.start()
    return process


def _run(arguments, said, event, number, within):
    append = runs.append_lines

    def append_and_signal(path, *events):
        append(path, *events)
        if any((each.get("stage"), each.get("done")) == event for each in events):
            os.kill(os.getpid(), number)

    runs.append_lines = append_and_signal
    file = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    with within():
        main(arguments)
