"""A PostgreSQL server of the tests' own, on a port of this machine; it is gone when they end."""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import pytest

PASSWORD = "a secret of the tests"
needs_server = pytest.mark.skipif(
    find_spec("adbc_driver_postgresql") is None, reason='needs pip install "topbin[postgres]"'
)


def programs():
    """Where the server's programs are; the newest version, if there are several."""
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    found = [path.parent for path in known] or [shutil.which("initdb")]
    return Path(found[0]) if found[0] else None


def as_user(command):
    """The same command, by the user `postgres` if this is root: the server refuses root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else command


@lru_cache(maxsize=1)
def start():
    """The address of the server, without a table; skips where there is none to start."""
    where = programs()
    if where is None:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    (folder / "password").write_text(PASSWORD)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    data = ["-D", folder / "data"]
    made = ["-U", "topbin", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "-N"]
    run(where / "initdb", *data, *made)
    told = f"-c listen_addresses=127.0.0.1 -c fsync=off -k {folder} -p {port}"
    run(where / "pg_ctl", *data, "-o", told, "-l", folder / "log", "-w", "start")
    atexit.register(stop, where, folder)
    return f"postgresql://topbin@127.0.0.1:{port}/postgres"


def stop(where, folder):
    run(where / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def run(*command):
    told = as_user([str(word) for word in command])
    subprocess.run(told, check=True, stdout=subprocess.DEVNULL, timeout=120)


def ask(address, *statements):
    """Run statements, one transaction each; the rows of the last one."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in (one for several in statements for one in several.split(";")):
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
