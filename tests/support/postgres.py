"""A PostgreSQL server for one test: a new cluster in a temporary directory, on a free port of this machine.

``PostgresUnavailable`` names in one sentence what is missing.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg import sql

PASSWORD = "canary-7f3a"
START_SECONDS = 60
_END_READERS = """
SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active_pid IS NOT NULL
"""


class PostgresUnavailable(Exception):
    """The programs of the server are missing, or a user that may run them."""


class PostgresServer:
    """A running server with a user ``lake``, whose password is ``PASSWORD``."""

    def __init__(self) -> None:
        self._as_owner: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        try:
            self._start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _start(self) -> None:
        binaries = _binaries()
        if os.getuid() == 0:  # the server refuses to run as root
            owner = _owner()
            shutil.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self._as_owner = ["runuser", "-u", owner.pw_name, "--"]
        secret, data = self.folder / "password", self.folder / "data"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self.control = str(binaries / "pg_ctl")
        self.data = str(data)
        self._run(
            [str(binaries / "initdb"), "-D", self.data, "-U", "lake", "-A", "scram-sha-256", f"--pwfile={secret}", "-N"]
        )
        self.port = _free_port()
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off -c wal_level=logical"
        log = str(self.folder / "log")
        self._begin = [self.control, "-D", self.data, "-l", log, "-w", "-t", str(START_SECONDS), "-o", options, "start"]
        self._run(self._begin)

    def crash(self) -> None:
        """Kill all processes of the server at once, and start it again, which recovers its databases."""
        main = psutil.Process(int((Path(self.data) / "postmaster.pid").read_text().split()[0]))
        killed = [main, *main.children(recursive=True)]
        main.suspend()  # it begins no process meanwhile
        for one in {*killed, *main.children(recursive=True)} - {main}:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        main.kill()
        psutil.wait_procs(killed, START_SECONDS)
        self._run(self._begin)

    def uri(self, password: str = PASSWORD, database: str = "postgres") -> str:
        """Return the SQLAlchemy URI of a database."""
        return f"postgresql+psycopg://lake:{password}@127.0.0.1:{self.port}/{database}"

    def close(self) -> None:
        """Stop the server and remove its files."""
        self._run([self.control, "-D", self.data, "-m", "immediate", "stop"])
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command: list[str]) -> None:
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [*self._as_owner, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
            )
            output.seek(0)
            assert done.returncode == 0, output.read().decode(errors="replace")[-2000:]


def remove_followed(connection: psycopg.Connection[Any]) -> None:
    """Remove the schema ``s``, the slots and the publications; sessions that still read a slot are ended before."""
    connection.execute("DROP SCHEMA IF EXISTS s CASCADE")
    deadline = time.monotonic() + START_SECONDS
    while connection.execute(_END_READERS).fetchall():
        assert time.monotonic() < deadline, "a session reads a slot and does not end"
        time.sleep(0.05)
    connection.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    for (name,) in connection.execute("SELECT pubname FROM pg_publication").fetchall():
        connection.execute(sql.SQL("DROP PUBLICATION {}").format(sql.Identifier(name)))


def _binaries() -> Path:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not versions:
        raise PostgresUnavailable("no initdb: the tests of the catalog on PostgreSQL need a PostgreSQL server")
    return versions[-1].parent


def _owner() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresUnavailable("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def running_server() -> Iterator[PostgresServer]:
    """A server for the tests of one module, as a fixture; skips them where PostgreSQL is not installed."""
    try:
        started = PostgresServer()
    except PostgresUnavailable as reason:
        pytest.skip(str(reason))
    yield started
    started.close()
