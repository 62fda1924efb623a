"""The command, or a script, in a process of its own that has its imports behind it, to be stopped.

A server imports them once; each process is a fork of it. How the command starts is tested elsewhere
(tests/test_import.py and the tests of a new interpreter).
"""

import multiprocessing
import os
import runpy
import signal
import sys
from contextlib import contextmanager, nullcontext

from topbin.cli import main
from topbin.store import runs

CONTEXT = multiprocessing.get_context("forkserver")
IMPORTED = ["pytest", "lightgbm", "matplotlib.pyplot", "topbin.job.fit", "topbin.cli.fit"]
IMPORTED += ["torch", "torch._dynamo", "safetensors.torch", "topbin.learn.backends.checkpoint"]


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


@contextmanager
def script(path, *arguments):
    """Start a script; gives its process and the lines that it prints. It is ended, if need be."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    CONTEXT.set_forkserver_preload(IMPORTED)
    process = CONTEXT.Process(target=_run_script, args=(path, [str(a) for a in arguments], theirs))
    process.start()
    theirs.close()
    try:
        with open(ours.fileno(), closefd=False) as lines:
            yield process, lines
    finally:
        ours.close()
        process.kill()
        process.join(60)


def _run_script(path, arguments, output):
    os.dup2(output.fileno(), 1)
    sys.argv = [path, *arguments]
    try:
        runpy.run_path(path, run_name="__main__")
    except KeyboardInterrupt:  # ends like any interpreter that is interrupted
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


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
