"""Every cell of the tables of Garg et al. 2021 as data, to print beside our own numbers.

Errors of α are absolute, at α = .5; accuracies are percentages. `spread` is the error bar of the
appendix, where it prints one. A star in the paper is oracle early stopping: the best epoch by true
labels. Typed from the LaTeX source; "CVuO" there is CVIR. Blank cells are skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

Measure = Literal["alpha_error", "accuracy"]
Stop = Literal["last", "pu", "oracle"]


@dataclass(frozen=True, slots=True)
class Printed:
    """One number of one table."""

    table: str
    task: str
    net: str
    method: str
    measure: Measure
    value: float
    spread: float | None
    stop: Stop


# One line per dataset and net, methods in the order of the header. "a±b" has an error bar.
_TABLES: dict[str, tuple[Measure, str, str]] = {
    "MPE": (
        "alpha_error",
        "tedn bbe* dedpul* alphamax* elkan_noto* km2 tice",
        """
        binarized_cifar resnet18  0.026 0.091 0.091 0.125 0.192 - -
        binarized_cifar allconv   0.042 0.037 0.052 0.09 0.221 0.168 0.251
        binarized_cifar mlp       0.225 0.177 0.138 0.3 0.372 - -
        cifar_dog_cat resnet18    0.078 0.176 0.170 0.17 0.226 0.331 0.286
        cifar_dog_cat allconv     0.066 0.128 0.115 0.19 0.250 - -
        binarized_mnist mlp       0.024 0.032 0.031 0.090 0.080 0.029 0.056
        mnist17 mlp               0.003 0.023 0.021 0.075 0.028 0.022 0.043
        imdb bert                 0.008 0.011 0.016 0.07 0.12 - -
        """,
    ),
    "classification": (
        "accuracy",
        "tedn cvir pvu* dedpul* nnpu upu*",
        """
        binarized_cifar resnet18  82.7 82.3 76.9 77.1 77.2 76.7
        binarized_cifar allconv   77.9 78.1 75.8 77.1 73.4 72.5
        binarized_cifar mlp       64.2 66.9 61.6 62.6 63.1 64.0
        cifar_dog_cat resnet18    75.2 73.3 67.3 67.0 71.8 68.8
        cifar_dog_cat allconv     73.0 71.7 70.5 69.2 67.9 67.5
        binarized_mnist mlp       95.6 96.3 94.2 94.8 96.1 95.2
        mnist17 mlp               98.7 98.7 96.9 97.7 98.4 98.4
        imdb bert                 87.6 87.4 86.1 87.3 86.2 85.9
        """,
    ),
    "MPE_scott": (
        "alpha_error",
        "tedn bbe* dedpul* scott*",
        """
        binarized_cifar resnet18  0.018 0.072 0.075 0.091
        cifar_dog_cat resnet18    0.074 0.120 0.113 0.158
        binarized_mnist mlp       0.021 0.028 0.027 0.063
        mnist17 mlp               0.003 0.008 0.006 0.037
        """,
    ),
    "pn_classification": (
        "accuracy",
        "nnpu pvn cvir tedn",
        """
        binarized_cifar resnet18  76.8 86.9 82.6 82.7
        binarized_cifar allconv   72.1 76.7 77.1 76.8
        binarized_cifar mlp       63.9 65.1 65.9 63.2
        cifar_dog_cat resnet18    72.6 80.4 74.0 76.1
        cifar_dog_cat allconv     68.4 77.9 71.0 72.2
        binarized_mnist mlp       95.9 96.7 96.4 95.9
        mnist17 mlp               98.2 99.0 98.6 98.6
        imdb bert                 86.2 89.1 87.4 88.1
        """,
    ),
    # In this table EN has no star and IMDb's EN is 0.07, the AlphaMax of the first table.
    "MPE_error_bar": (
        "alpha_error",
        "tedn bbe* dedpul* elkan_noto km2 tice",
        """
        binarized_cifar resnet18  0.026±0.005 0.091±0.027 0.091±0.023 0.192±0.007 - -
        binarized_cifar allconv   0.042±0.003 0.037±0.018 0.052±0.017 0.221±0.017 0.168±0.207 0.194±0.039
        binarized_cifar mlp       0.225±0.013 0.177±0.011 0.138±0.009 0.372±0.002 - -
        cifar_dog_cat resnet18    0.078±0.010 0.176±0.015 0.170±0.010 0.226±0.003 0.331±0.238 0.286±0.013
        cifar_dog_cat allconv     0.066±0.015 0.128±0.020 0.115±0.014 0.250±0.019 - -
        binarized_mnist mlp       0.024±0.001 0.032±0.001 0.031±0.003 0.080±0.009 0.029±0.008 0.056±0.05
        mnist17 mlp               0.003±0.000 0.023±0.017 0.021±0.011 0.028±0.017 0.022±0.003 0.043±0.023
        imdb bert                 0.008±0.001 0.011±0.002 0.016±0.005 0.07±0.01 - -
        """,  # noqa: E501  (one line per row of the table)
    ),
    "classification_error_bar": (
        "accuracy",
        "tedn cvir pvu* dedpul* nnpu upu*",
        """
        binarized_cifar resnet18  82.7±0.13 82.3±0.18 76.9±1.12 77.1±1.52 77.2±1.03 76.7±0.74
        binarized_cifar allconv   77.9±0.29 78.1±0.47 75.8±0.75 77.1±0.64 73.4±1.31 72.5±0.21
        binarized_cifar mlp       64.2±0.37 66.9±0.28 61.6±0.38 62.6±0.30 63.1±0.79 64.0±0.24
        cifar_dog_cat resnet18    75.2±1.74 73.3±0.94 67.3±1.52 67.0±1.46 71.8±0.33 68.8±0.53
        cifar_dog_cat allconv     73.0±0.81 71.7±0.47 70.5±0.60 69.2±0.86 67.9±0.52 67.5±2.28
        binarized_mnist mlp       95.6±0.42 96.3±0.07 94.2±0.58 94.8±0.10 96.1±0.14 95.2±0.19
        mnist17 mlp               98.7±0.25 98.7±0.09 96.9±1.51 97.7±0.62 98.4±0.20 98.4±0.09
        imdb bert                 87.6±0.20 87.4±0.25 86.1±0.53 87.3±0.18 86.2±0.25 85.9±0.12
        """,
    ),
    "uci_MPE": (
        "alpha_error",
        "tedn bbe* dedpul* elkan_noto* km2 tice",
        """
        concrete uci-mlp   0.071 0.152 0.176 0.239 0.099 0.268
        mushroom uci-mlp   0.001 0.015 0.014 0.013 0.038 0.069
        landsat uci-mlp    0.022 0.021 0.012 0.080 0.037 0.027
        pageblock uci-mlp  0.007 0.066 0.041 0.135 0.008 0.298
        spambase uci-mlp   0.006 0.047 0.077 0.127 0.062 0.276
        """,
    ),
    "uci_classification": (
        "accuracy",
        "tedn cvir pvu* dedpul* nnpu upu*",
        """
        concrete uci-mlp   86.3 80.1 83.1 83.7 83.2 84.4
        mushroom uci-mlp   96.4 96.3 98.7 98.7 97.5 93.9
        landsat uci-mlp    93.8 93.1 93.4 92.4 92.9 92.3
        pageblock uci-mlp  95.7 95.7 95.1 94.5 93.9 93.9
        spambase uci-mlp   89.4 88.1 89.2 86.8 88.5 87.7
        """,
    ),
    "mnist_MPE": (
        "alpha_error",
        "tedn bbe* dedpul* elkan_noto* km2 tice",
        "mnist_overlap mlp 0.035 0.100 0.104 0.196 0.099 0.074",
    ),
    "mnist_classification": (
        "accuracy",
        "tedn cvir pvu* dedpul* nnpu upu*",
        "mnist_overlap mlp 79.0 78.4 77.4 77.5 78.6 78.8",
    ),
}


def _cells() -> Iterator[Printed]:
    for table, (measure, header, body) in _TABLES.items():
        methods = header.split()
        for line in filter(None, map(str.strip, body.splitlines())):
            task, net, *cells = line.split()
            for method, cell in zip(methods, cells, strict=True):
                if cell != "-":
                    yield _printed(table, task, net, method, measure, cell)


def _printed(table: str, task: str, net: str, method: str, measure: Measure, cell: str) -> Printed:
    value, _, spread = cell.partition("±")
    return Printed(
        table=table,
        task=task,
        net=net,
        method=method.rstrip("*"),
        measure=measure,
        value=float(value),
        spread=float(spread) if spread else None,
        stop="oracle" if method.endswith("*") else "last",
    )


PAPER = tuple(_cells())


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """Accuracy of PvU stopped where the loss on unseen PU data ceases to fall, and at its best."""

    task: str
    net: str
    stopped: float
    oracle: float


EARLY_STOPS = (
    EarlyStop("binarized_cifar", "resnet18", stopped=60.4, oracle=78.3),
    EarlyStop("cifar_dog_cat", "resnet18", stopped=58.4, oracle=71.6),
    EarlyStop("binarized_mnist", "mlp", stopped=94.1, oracle=94.5),
)


def printed(task: str, method: str, measure: Measure, net: str | None = None) -> Printed | None:
    """The paper's number for a method on a task, with its error bar if one is printed.

    Of several nets the first in the paper's order, its best, unless one is named.

    >>> found = printed("mnist17", "tedn", "accuracy")
    >>> found.value, found.spread
    (98.7, 0.25)
    >>> printed("mnist17", "no such method", "accuracy") is None
    True
    """
    same = [
        cell
        for cell in PAPER
        if (cell.task, cell.method, cell.measure) == (task, method, measure)
        and net in (None, cell.net)
    ]
    bars = [cell for cell in same if cell.spread is not None]
    found = next(iter([*bars, *same]), None)
    # The table with error bars leaves out EN's star, which the first one has.
    starred = any(cell.stop == "oracle" for cell in same)
    return replace(found, stop="oracle") if found is not None and starred else found


def table_of(name: str, task: str) -> dict[str, Printed]:
    """One line of one of the paper's tables, by method, for its first net.

    >>> [cell.value for cell in table_of("pn_classification", "mnist17").values()]
    [98.2, 99.0, 98.6, 98.6]
    """
    cells = [cell for cell in PAPER if (cell.table, cell.task) == (name, task)]
    return {cell.method: cell for cell in cells if cell.net == cells[0].net}
