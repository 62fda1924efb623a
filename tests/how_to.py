"""Running the commands and the Python of a how-to page, on files like those it speaks of."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from claims import claims
from click.testing import CliRunner
from score_files import scored

from topbin.cli import main

DOCS = Path(__file__).parents[1] / "docs/how-to"


def write_files(folder):
    """`scored/` and `claims/`, under the names that the pages use."""
    for name in ("scored", "claims"):
        (folder / name).mkdir()
    table = scored()
    names = {"score": table["score"], "is_fraud": table["label"], "town": table["town"]}
    rows = claims(1600, seed=3).rename(columns={"case": "claim", "known": "is_fraud"})
    for i, here in enumerate(np.array_split(np.arange(1500), 3)):
        part = pa.table({name: values[here] for name, values in names.items()})
        pq.write_table(part, folder / f"scored/{i}.parquet")
        rows.iloc[here].to_parquet(folder / f"claims/{i}.parquet", index=False)


def run_page(name, printed, address):
    """Run every command and the Python of a page, with `address` where it prints another."""
    text = (DOCS / name).read_text().replace(printed, address)
    commands = re.findall(r"^ *(topbin [^|\n]*) *$", _blocks(text, "bash"), re.MULTILINE)
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"
    exec(_blocks(text, "python"), {})
    return len(commands)


def _blocks(text, language):
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL))
