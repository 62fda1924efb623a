"""Finished steps of a job stay in its run folder, so that `--resume` does not do them twice.

A step is a model folder (`topbin.store.models`: no pickle, checksums, written whole or not at all).
Steps are kept under a name made from all that determines them: the rows, the settings, the
versions. Steps made of anything else are removed.
"""

import json
import platform
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import topbin
from topbin.core.atomic import remove, remove_parts, write_errors
from topbin.core.errors import InputError
from topbin.core.hashing import sha256_of
from topbin.job.prepare import Prepared
from topbin.job.result import packages
from topbin.store.answer import Answer
from topbin.store.models import load, save
from topbin.store.runs import MAY_CHANGE, RESULT, STAGES, RunFolder, read_result


class SavedSteps(MutableMapping[str, Any]):
    """Steps by name, on the disk; one that cannot be read counts as not done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> Any:
        try:
            return load(self.folder / name)
        except InputError as error:
            raise KeyError(name) from error

    def __setitem__(self, name: str, step: Any) -> None:
        save(step, self.folder / name, force=True)

    def __delitem__(self, name: str) -> None:
        remove(self.folder / name)

    def __iter__(self) -> Iterator[str]:
        """Names of all steps, without reading them."""
        return iter(sorted(path.name for path in self.folder.glob("[!.]*")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def open_steps(run: RunFolder, data: Prepared) -> SavedSteps:
    """The steps of this very job; steps of other rows, settings or versions are removed."""
    steps = SavedSteps(run.folder / STAGES / steps_key(data))
    with write_errors(run.folder):
        for other in steps.folder.parent.glob("*"):
            if other != steps.folder:
                remove(other)
        remove_parts(steps.folder)
    return steps


def remove_steps(run: RunFolder) -> None:
    """Remove all steps, when result.json has made them needless."""
    with write_errors(run.folder):
        remove(run.folder / STAGES)


def steps_key(data: Prepared) -> str:
    """A name for all that determines a step."""
    settings = data.request.settings()
    made_of = {
        "rows": data.hash,
        "settings": {key: settings[key] for key in settings if key not in MAY_CHANGE},
        "topbin": topbin.__version__,
        "python": platform.python_version(),
        "packages": packages(data),
    }
    return sha256_of(json.dumps(made_of, sort_keys=True))[:24]


def read_finished(run: RunFolder, data: Prepared) -> Answer | None:
    """What a resumed run found, if it is complete and was made of the same; else None."""
    if not run.resumed or not (run.folder / RESULT).exists():
        return None
    stored = read_result(run.folder)
    same = (
        stored.stopped is None
        and stored.topbin == topbin.__version__
        and stored.versions == packages(data)
        and stored.data.hash == data.hash
    )
    return stored if same else None
