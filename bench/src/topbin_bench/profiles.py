"""How much work a run is: the paper's, what two cores finish, or seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topbin.core.errors import InputError
from topbin_bench.tasks.task import Kind


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a profile decides for one kind of task; part of what a result is keyed by.

    `size` is the net's width or widths where they are not the paper's. α̂ and accuracy are taken
    every `every` epochs and in each of the `last` ones, over which the paper averages. `max_rows`
    bounds KM and TIcE, `repeats` the cross-fits of our default.
    """

    net: str
    warm_start: int
    epochs: int
    size: int | tuple[int, ...] | None = None
    every: int = 10
    last: int = 10
    batch: int = 200
    max_rows: int = 1000
    repeats: int | None = None

    @property
    def total(self) -> int:
        """Epochs of every learner, warm start included."""
        return self.warm_start + self.epochs

    @property
    def about(self) -> str:
        """In words, for a table's caption.

        >>> Settings("mlp", 15, 30, size=(300, 50), last=5).about
        'mlp of 300 × 50, 15 + 30 epochs, batches of 200 + 200, means of the last 5 epochs'
        """
        widths = [self.size] if isinstance(self.size, int) else self.size
        size = f" of {' × '.join(map(str, widths))}" if widths else ""
        return (
            f"{self.net}{size}, {self.warm_start} + {self.epochs} epochs, "
            f"batches of {self.batch} + {self.batch}, means of the last {self.last} epochs"
        )

    def recorded(self, epoch: int) -> bool:
        """Whether this epoch is measured.

        >>> settings = Settings("mlp", 10, 20, every=10, last=2)
        >>> [epoch for epoch in range(1, 31) if settings.recorded(epoch)]
        [1, 10, 20, 29, 30]
        """
        return epoch == 1 or epoch % self.every == 0 or epoch > self.total - self.last


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings for each kind of task, and how many splits are run."""

    name: str
    about: str
    seeds: int
    settings: Mapping[Kind, Settings]


TABLES = Settings("uci-mlp", warm_start=100, epochs=200)
PHOTOS = Settings("resnet18", warm_start=100, epochs=1900)
DIGITS = Settings("mlp", warm_start=15, epochs=30, size=(300, 300, 50), every=3, last=5)
TEXT = Settings("uci-mlp", warm_start=10, epochs=30, every=4, last=5)
# Half the paper's batch: with so few epochs it is steps that a net lacks. A warm start of 5 epochs
# left cat against dog at chance: what is discarded is arbitrary before PvU tells anything apart.
_SHORT = Settings("resnet18", warm_start=30, epochs=30, every=3, last=5, batch=100)
_SHORTER = Settings("resnet18", warm_start=4, epochs=6, every=1, last=3, batch=100)
_TINY = Settings(
    "mlp", warm_start=3, epochs=6, size=(16,), every=3, last=3, max_rows=100, repeats=1
)

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "paper",
            "the paper's nets and epochs; images want a GPU",
            10,
            {
                "table": TABLES,
                "text": TABLES,
                "digits": Settings("mlp", warm_start=100, epochs=900),
                "image": PHOTOS,
                "images": PHOTOS,
            },
        ),
        Profile(
            "cpu",
            "what two cores finish: tables as in the paper, narrower nets and fewer epochs else",
            3,
            {
                "table": TABLES,
                "text": TEXT,
                "digits": DIGITS,
                "image": replace(_SHORT, net="resnet18", size=8),
                "images": replace(_SHORTER, net="resnet18", size=8),
            },
        ),
        Profile(
            "cpu-allconv",
            "as cpu, with a narrow All-CNN for photographs",
            3,
            {
                "table": TABLES,
                "text": TEXT,
                "digits": DIGITS,
                "image": replace(_SHORT, net="allconv", size=16),
                "images": replace(_SHORTER, net="allconv", size=16),
            },
        ),
        Profile(
            "smoke",
            "seconds: everything runs once, and no number means anything",
            1,
            {"table": _TINY, "text": _TINY, "digits": _TINY, "image": _TINY, "images": _TINY},
        ),
    )
}


def find_profile(name: str) -> Profile:
    """Look a profile up, or say which ones there are.

    >>> find_profile("cpu").seeds
    3
    """
    if name not in PROFILES:
        raise InputError(
            "TB007", f"no profile is called {name!r}; there are {', '.join(PROFILES)}."
        )
    return PROFILES[name]
