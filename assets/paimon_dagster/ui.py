"""``python -m paimon_dagster.ui``: run Dagster's web server and daemon for the lake until Ctrl-C.

The port is checked first, because a second ``dagster dev`` with the same home directory would start a second daemon
before it notices that the port is in use. The child process has its own process group, so that this process can end
the whole group.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from paimon_lake.extras import missing_extra

try:
    from paimon_dagster.instance import prepare_home, process_environment
    from paimon_lake.declarations import FOLDER, SettingsError, load_settings
    from paimon_lake.protocol import PipelineError
except ModuleNotFoundError as error:
    advice = missing_extra(error, "dagster")
    if advice is None or __name__ != "__main__":
        raise
    raise SystemExit(f"ui: {advice}") from None

_HOST = "127.0.0.1"
_WORKSPACE = Path(__file__).resolve().with_name("workspace.yaml")
_READY_SECONDS = 180
_STOP_SECONDS = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until interrupted and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m paimon_dagster.ui", description="Open Dagster on the lake.")
    parser.add_argument("--configs", metavar="PATH", help="the folder of the declarations (default: configs/)")
    parser.add_argument("--port", type=int, default=3000, help="the port on this machine (default: 3000)")
    asked = parser.parse_args(arguments)
    if asked.configs:
        os.environ[FOLDER] = str(Path(asked.configs).expanduser().absolute())
    try:
        settings = load_settings()
        check_port(asked.port)
        home = prepare_home(settings)
    except (PipelineError, SettingsError) as error:
        print(f"ui: {error}", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(_WORKSPACE), "-h", _HOST]
    command += ["-p", str(asked.port), "--log-level", "warning"]
    for number in (signal.SIGINT, signal.SIGTERM):
        # Install a handler, because a signal that this process ignores would also be ignored in the child.
        signal.signal(number, _stop)
    child = subprocess.Popen(
        command, env=process_environment(settings, home), start_new_session=True, stdin=subprocess.DEVNULL
    )
    try:
        print(f"Dagster starts on the lake {settings.warehouse} (about 20 seconds) ...", flush=True)
        if _wait_until_ready(child, f"http://{_HOST}:{asked.port}/server_info"):
            print(f"Open http://{_HOST}:{asked.port} (Ctrl-C ends it)", flush=True)
        return child.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _end(child)


def check_port(port: int) -> None:
    """Raise PipelineError when the port is invalid or in use."""
    if not 1 <= port <= 65535:
        raise PipelineError(f"{port} is not a valid port: choose one from 1 to 65535")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            why = "may not be used by this user" if isinstance(error, PermissionError) else "is in use"
            raise PipelineError(f"port {port} {why}: choose another with --port") from None


def _wait_until_ready(child: subprocess.Popen[bytes], url: str) -> bool:
    deadline = time.monotonic() + _READY_SECONDS
    while child.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=2):
            return True
        time.sleep(0.5)
    return False


def _end(child: subprocess.Popen[bytes]) -> None:
    """Interrupt the child process and wait until it ends, then kill the remaining processes of its process group."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
