"""The tasks by name: a file a family, and one function that makes a split of any of them."""

from difflib import get_close_matches

from topbin.core.errors import InputError
from topbin_bench.tasks.cifar import CIFAR
from topbin_bench.tasks.gsec import GSEC
from topbin_bench.tasks.imdb import IMDB
from topbin_bench.tasks.mnist import MNIST
from topbin_bench.tasks.split import Split, Truth
from topbin_bench.tasks.synthetic import SYNTHETIC
from topbin_bench.tasks.task import Task
from topbin_bench.tasks.uci import UCI

__all__ = ["FAMILIES", "TASKS", "Split", "Task", "Truth", "find_tasks"]

FAMILIES: dict[str, tuple[Task, ...]] = {
    "synthetic": SYNTHETIC,
    "uci": UCI,
    "gsec": GSEC,
    "mnist": MNIST,
    "cifar": CIFAR,
    "imdb": IMDB,
}
TASKS = {task.name: task for family in FAMILIES.values() for task in family}


def find_tasks(name: str) -> tuple[Task, ...]:
    """The task of this name, or all tasks of a family.

    >>> [task.name for task in find_tasks("uci")]
    ['concrete', 'mushroom', 'landsat', 'pageblock', 'spambase']
    """
    if name in FAMILIES:
        return FAMILIES[name]
    if name in TASKS:
        return (TASKS[name],)
    near = get_close_matches(name, [*FAMILIES, *TASKS], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InputError(
        "TB007", f"no task or family is called {name!r}; `topbin bench list` shows them.{hint}"
    )
