"""How much work a run is: the paper's, what two cores can finish, or seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topbin_bench.errors import look_up
from topbin_bench.tasks.task import Kind


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a profile decides for one kind of task; part of the key of a result.

    `size` is the width, or the widths, of a net that is not the paper's. α̂ and accuracy are
    measured every `every` epochs and in each of the `last` ones, which the paper averages.
    `max_rows` limits KM and TIcE, `repeats` the cross-fits of our default.
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
        """In words, for the caption of a table.

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
    """Settings for each kind of task, and the number of splits."""

    name: str
    about: str
    seeds: int
    settings: Mapping[Kind, Settings]


_TABLES = Settings("uci-mlp", warm_start=100, epochs=200)
_TEXT = Settings("uci-mlp", warm_start=10, epochs=30, every=4, last=5)
_DIGITS = Settings("mlp", warm_start=15, epochs=30, size=(300, 300, 50), every=3, last=5)
_PHOTOS = Settings("resnet18", warm_start=100, epochs=1900)
_TINY = Settings(
    "mlp", warm_start=3, epochs=6, size=(16,), every=3, last=3, max_rows=100, repeats=1
)
_PAPER: Mapping[Kind, Settings] = {
    "table": _TABLES,
    "text": _TABLES,
    "digits": Settings("mlp", warm_start=100, epochs=900),
    "image": _PHOTOS,
    "images": _PHOTOS,
}


def _cpu(net: str, width: int) -> Mapping[Kind, Settings]:
    """Tables as in the paper; narrow nets and fewer epochs for everything else.

    Photographs get half the paper's batch: with so few epochs a net needs more steps. After a warm
    start of 5 epochs cat against dog stayed at chance: what is discarded is arbitrary before PvU
    has learned anything.
    """
    photos = Settings(net, warm_start=30, epochs=30, size=width, every=3, last=5, batch=100)
    many = replace(photos, warm_start=4, epochs=6, every=1, last=3)
    return {
        "table": _TABLES, "text": _TEXT, "digits": _DIGITS, "image": photos, "images": many,
    }  # fmt: skip


def _fast() -> Mapping[Kind, Settings]:
    """Nets of `topbin.learn` for two cores, with their own optimizer and schedule."""
    photos = Settings("fast", warm_start=10, epochs=6, every=1, last=2, batch=125)
    digits = replace(photos, warm_start=4, epochs=3)
    return {**_cpu("resnet18", 8), "digits": digits, "image": photos, "images": photos}


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("paper", "the paper's nets and epochs; images need a GPU", 10, _PAPER),
        Profile(
            "cpu",
            "what two cores can finish: tables as in the paper; for the rest, narrower nets and "
            "fewer epochs",
            3,
            _cpu("resnet18", 8),
        ),
        Profile(
            "cpu-allconv",
            "the same, with a narrow All-CNN for photographs",
            3,
            _cpu("allconv", 16),
        ),
        Profile(
            "fast",
            "the fast net with its own schedule for digits and photographs; the rest as in cpu",
            5,
            _fast(),
        ),
        Profile(
            "smoke",
            "seconds: everything runs once, and no number means anything",
            1,
            dict.fromkeys(_PAPER, _TINY),
        ),
    )
}


def find_profile(name: str) -> Profile:
    """Look up a profile.

    >>> find_profile("cpu").seeds
    3
    """
    return look_up(name, PROFILES, "profile")
