"""Worker: runs inputs in this process and reports findings, one JSON line each; the parent process sees its end.

A finding is an error that is not one of the target's, an allocation that fails within the address space of the
process, more than ``MEMORY_BYTES`` of memory or ``CPU_SECONDS`` of processor time for one input. Too much time ends the
process by a signal; so does damage that crashes it. The input is in the file ``current`` then, which every run writes
first.

Inputs that execute new lines of the project's code are kept and changed again.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.fuzz.target import Target

CPU_SECONDS = 2.0
CLOCK_SECONDS = 300.0
"""How long an input may wait; the processor may be shared with many processes."""
MEMORY_BYTES = 256 << 20
CURRENT_BYTES = 4 << 20
ADDRESS_SPACE_MB = 1024
"""The default address space of a worker; the modules of all targets take about 370 MB of it."""
_MOST_EVENTS = 20_000
"""Executed lines per input that are looked at."""
_SLOW_SECONDS = 0.1
_SLOW_SHARE = 20
"""A slow input is changed in one of so many cases that it is drawn, so that it does not take most of the time."""
_PROJECT = tuple(str(Path(__file__).resolve().parents[2] / name) for name in ("paimon_core", "pipelines"))


@dataclass(frozen=True)
class Finding:
    """What one input did, and where."""

    kind: str
    place: str
    data: bytes
    detail: str = ""

    @property
    def signature(self) -> tuple[str, str]:
        """Equal for two inputs that probably have the same cause."""
        return self.kind, self.place


class Probe:
    """Runs inputs of one target and measures them."""

    def __init__(self, target: Target, current: Path) -> None:
        self.target = target
        self.lines: set[tuple[Any, int]] = set()
        self._new, self._events = False, 0
        size = CURRENT_BYTES + 4
        current.write_bytes(bytes(size)) if not current.exists() or current.stat().st_size != size else None
        with current.open("r+b") as file:
            self._current = mmap.mmap(file.fileno(), size)

    def run(self, data: bytes, *, traced: bool = False) -> tuple[Finding | None, bool]:
        """Return the finding, if any, and whether new lines were executed (only when ``traced``)."""
        self._current[:4] = len(data).to_bytes(4, "little")
        self._current[4 : 4 + len(data)] = data
        self._new, self._events = False, 0
        before = _start_measuring()
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS * (20 if traced else 1))
        signal.setitimer(signal.ITIMER_REAL, CLOCK_SECONDS)
        found: BaseException | None = None
        try:
            if traced:
                sys.settrace(self._trace)
            self.target.run(data)
        except self.target.errors as error:
            found = _failed_allocation(error)
        except (Exception, RecursionError, MemoryError) as error:
            found = error
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        used = _highest_memory() - before
        if found is not None:
            text = "".join(traceback.format_exception(found, limit=-6))[-3000:]
            return Finding(type(found).__name__, _place(found), data, text), self._new
        if used > MEMORY_BYTES:
            return Finding("memory", "", data, f"{used >> 20} MB"), self._new
        return None, self._new

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(_PROJECT) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        self._events += 1
        if self._events > _MOST_EVENTS:
            sys.settrace(None)
            return None
        place = (frame.f_code, frame.f_lineno)
        if place not in self.lines:
            self.lines.add(place)
            self._new = True
        return self._line


def _failed_allocation(error: BaseException | None) -> BaseException | None:
    """Return the MemoryError that an error of the library was raised for, if any."""
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__ or error.__context__
    return error


def _start_measuring() -> int:
    """Set the highest memory of the process to its memory now, and return that in bytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _highest_memory()


def _highest_memory() -> int:
    """Return the highest memory since the last reset, in bytes; ``ru_maxrss`` also counts what was before it."""
    with suppress(OSError):
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _place(error: BaseException) -> str:
    """Return the innermost line of the project in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(_PROJECT)] or frames
    return f"{'/'.join(Path(ours[-1].filename).parts[-3:])}:{ours[-1].lineno}" if ours else ""


def fuzz(
    probe: Probe, inputs: Sequence[bytes], seeds: Sequence[bytes], chance: Random, seconds: float, most: int
) -> Iterable[Finding | int]:
    """Yield findings with different signatures, and last the number of executions."""
    pool = list(inputs)
    for one in seeds:
        probe.run(one, traced=True)
    seen: set[tuple[str, str]] = set()
    slow = {one for one in set(inputs) - set(seeds) if _seconds(probe, one) > _SLOW_SECONDS}
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end and count < most:
        base = chance.choice(pool[-200:] if chance.randrange(2) else pool)
        if base in slow and chance.randrange(_SLOW_SHARE):
            continue
        try:
            data = probe.target.mutate(base, chance, pool[:50])
        except MemoryError:  # the change needs more memory than the process may take: no finding
            continue
        start = time.process_time()
        finding, new = probe.run(data, traced=count % 4 == 0)
        if time.process_time() - start > _SLOW_SECONDS:
            slow.add(data)
        count += 1
        if new and finding is None:
            pool.append(data)
        if finding is not None and finding.signature not in seen:
            seen.add(finding.signature)
            yield Finding(*finding.signature, smallest(probe, finding), finding.detail)
    yield count


def _seconds(probe: Probe, data: bytes) -> float:
    start = time.process_time()
    probe.run(data)
    return time.process_time() - start


def smallest(probe: Probe, finding: Finding, tries: int = 600) -> bytes:
    """Return a shorter input with the same signature."""

    def same(data: bytes) -> bool:
        other, _ = probe.run(data)
        return other is not None and other.signature == finding.signature

    return shortened(finding.data, same, tries)


def shortened(data: bytes, same: Callable[[bytes], bool], tries: int) -> bytes:
    """Remove parts of ``data``, from long to short ones, as long as it stays the ``same``."""
    size = max(1, len(data) // 2)
    while tries > 0:
        at, was = 0, len(data)
        while at < len(data) and tries > 0:
            rest = data[:at] + data[at + size :]
            tries -= 1
            if same(rest):
                data = rest
            else:
                at += size
        if size == 1 and len(data) == was:
            break
        size = max(1, size // 2)
    return data


def _say(**members: Any) -> None:
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


def _report(number: int, finding: Finding) -> None:
    data = base64.b64encode(finding.data).decode()
    _say(input=number, kind=finding.kind, place=finding.place, data=data, detail=finding.detail)


def _target(name: str) -> Target:
    """Import only the modules that the target needs."""
    if name == "self-test":
        from tests.fuzz.self_test import TARGET

        return TARGET
    from tests.fuzz.targets import TARGETS

    return TARGETS[name]


def main() -> None:
    """Read one task as JSON from standard input and run it; with the argument ``--serve``, run a task for each line.

    A server imports all targets once and runs each task in a process of its own, then says how that process ``ended``.
    """
    if sys.argv[1:] != ["--serve"]:
        run(json.load(sys.stdin))
        return
    from tests.fuzz import targets  # noqa: F401

    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                run(json.loads(line))
                status = 0
            except Exception:
                _say(failed=traceback.format_exc())
            finally:
                os._exit(status)
        _say(ended=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def run(task: dict[str, Any]) -> None:
    """Run a task: ``target`` and ``current``, and ``inputs`` to run or ``seconds``."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    most = task["address_space_mb"] << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, (name, path) in enumerate(task.get("inputs", ())):
        finding, _ = Probe(_target(name), Path(task["current"])).run(Path(path).read_bytes())
        if finding is not None:
            _report(number, finding)
    if "inputs" in task:
        _say(count=len(task["inputs"]))
        return
    target = _target(task["target"])
    probe = Probe(target, Path(task["current"]))
    seeds = list(target.seeds())
    inputs = [*seeds, *(Path(p).read_bytes() for p in task["corpus"])]
    for found in fuzz(probe, inputs, seeds, Random(task["seed"]), task["seconds"], task["most"]):
        if isinstance(found, int):
            _say(count=found, lines=len(probe.lines))
        else:
            _report(0, found)


if __name__ == "__main__":
    try:
        main()
    except Exception:
        _say(failed=traceback.format_exc())
        raise
