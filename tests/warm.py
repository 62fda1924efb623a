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
from pathlib import Path

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
    given = [str(each) for each in arguments], event, number, within
    return begin(_command, *given, said=said)


def begin(function, *given, said):
    """Call a function of a module; what it prints goes to the file `said`."""
    CONTEXT.set_forkserver_preload(IMPORTED)
    process = CONTEXT.Process(target=_run, args=(function, given, str(said), dict(os.environ)))
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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [path, *arguments]
    try:
        runpy.run_path(path, run_name="__main__")
    except KeyboardInterrupt:  # ends like any interpreter that is interrupted
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def end(function, *given, said, seconds=300):
    """Call a function, which has so much time to end; None, or how it died."""
    process = begin(function, *given, said=said)
    process.join(seconds)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    if code == 0:
        return None
    return f"exit code {code} (None: it hung): {Path(said).read_text(errors='replace')[-5000:]}"


def program(text, arguments):
    """What `python -c TEXT ARGUMENT…` does."""
    sys.argv = ["-c", *map(str, arguments)]
    exec(text, {"__name__": "__main__"})


def _run(function, given, said, environment):
    os.environ.update(environment)  # the server has that of an earlier test
    file = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    # Tests that run in the background would hand on their deafness.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    function(*given)


def _command(arguments, event, number, within):
    append = runs.append_lines

    def append_and_signal(path, *events):
        append(path, *events)
        if any((each.get("stage"), each.get("done")) == event for each in events):
            os.kill(os.getpid(), number)

    runs.append_lines = append_and_signal
    with within():
        main(arguments)
