"""Servers of object stores on this machine: moto for S3, fake-gcs-server and Azurite, each in a separate process.

moto is a development dependency. The other two are found by ``FAKE_GCS_SERVER`` and ``AZURITE_BLOB`` (paths of the
programs) or on the PATH; tests that need a missing one are skipped with a reason.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence

START_SECONDS = 60
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
S3_OPTIONS = {"s3.access-key": "test", "s3.secret-key": "test", "s3.region": "us-east-1"}


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Start a moto server and give its endpoint."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(command, port, "moto.server"):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def gcs_server() -> Iterator[str]:
    """Start a fake-gcs-server with objects in memory and give its endpoint."""
    program = _program("FAKE_GCS_SERVER", "fake-gcs-server", "go install github.com/fsouza/fake-gcs-server@latest")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    with _running([*command, "-external-url", url, "-public-host", f"127.0.0.1:{port}"], port, "fake-gcs-server"):
        yield url


@contextlib.contextmanager
def azure_server() -> Iterator[str]:
    """Start an Azurite blob service and give its endpoint."""
    program = _program("AZURITE_BLOB", "azurite-blob", "npm install azurite")
    port = free_port()
    command = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent", "--skipApiVersionCheck"]
    with _running([*command, "--inMemoryPersistence", "--disableTelemetry"], port, "azurite"):
        yield f"http://127.0.0.1:{port}/{AZURITE_ACCOUNT}"


class ServerUnavailable(Exception):
    """The program cannot be found; the message says how to install it."""


def make_bucket(endpoint: str, bucket: str) -> None:
    """Create a bucket on a moto server."""
    request = urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")
    with urllib.request.urlopen(request, timeout=10):
        pass


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _program(variable: str, name: str, install: str) -> str:
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        raise ServerUnavailable(f"no {name} ({install}; or set {variable})")
    return found


@contextlib.contextmanager
def _running(command: Sequence[str], port: int, what: str) -> Iterator[None]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(process, port, what)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, what: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{what} ended with status {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{what} did not listen within {START_SECONDS} s")
