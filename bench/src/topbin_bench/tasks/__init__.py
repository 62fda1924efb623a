"""The tasks by name, one file per family."""

from topbin_bench.errors import look_up
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
    return look_up(name, {task: (found,) for task, found in TASKS.items()} | FAMILIES, "task")
