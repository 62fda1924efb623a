"""One DuckDB for all small files: opening another takes longer than reading one of them.

Its cursors reach every file, so tests of what a connection may reach use connections of their own.
"""

from contextlib import contextmanager, suppress

import duckdb

from topbin.data.formats.duck import CONFIG, LOCK

SHARED = LOCK.replace("set enable_external_access=false; ", "")
assert SHARED != LOCK


def sharing(connect):
    """Like `duckdb.connect`, but a connection without a file is a cursor of a shared database."""
    held = []

    def opened():
        try:
            return held[-1].cursor().execute("select 1")
        except (IndexError, duckdb.Error):  # DuckDB gives up a database for some files
            held.append(connect(":memory:", False, CONFIG | {"threads": 1}))
            held[-1].execute(SHARED)
            return held[-1].cursor()

    @contextmanager
    def borrowed():
        with opened() as cursor:
            try:
                yield cursor
            finally:
                with suppress(duckdb.Error):
                    cursor.execute("drop view if exists data")  # the rows of a query of the user

    def shared(database=":memory:", *given, **named):
        is_ours = database == ":memory:" and len(given) == 2
        return borrowed() if is_ours else connect(database, *given, **named)

    return shared
