"""Settings of a run of the report, and the description of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Sizes of a run; ``repeats`` rounds count, after ``warm`` rounds that do not."""

    rows: int
    warm: int
    repeats: int
    plan_files: int
    commits: int
    curve_rows: tuple[int, ...]
    curve_files: tuple[int, ...]
    curve_runs: tuple[int, ...]
    engine_rows: int
    longevity: int
    limit_seconds: int
    """An operation of another library that needs more seconds on the clock is given up."""


FULL = Settings(
    rows=1_000_000,
    warm=1,
    repeats=5,
    plan_files=10_000,
    commits=20,
    curve_rows=(10_000, 100_000, 1_000_000, 10_000_000),
    curve_files=(100, 1_000, 10_000, 100_000),
    curve_runs=(1, 2, 4, 8, 16, 32),
    engine_rows=1_000_000,
    longevity=1_000,
    limit_seconds=120,
)
SMOKE = Settings(
    rows=2_000,
    warm=0,
    repeats=1,
    plan_files=9,
    commits=2,
    curve_rows=(500, 2_000),
    curve_files=(10, 30),
    curve_runs=(1, 2),
    engine_rows=500,
    longevity=10,
    limit_seconds=20,
)


def machine() -> dict[str, Any]:
    """Return what the figures depend on: processors, memory, system, load, revision of the project."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "processors": os.cpu_count(),
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "memory_bytes": memory,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_at_start": os.getloadavg()[0],
        "revision": revision.stdout.strip() or "unknown",
    }


def described(found: dict[str, Any]) -> str:
    """Return the machine as one line of text."""
    return (
        f"{found['processors']} processors ({found['processor']}), {found['memory_bytes'] / 2**30:.0f} GiB of memory, "
        f"{found['system']}, Python {found['python']}, load {found['load_at_start']:.1f} at the start"
    )


def as_numbers(settings: Settings) -> dict[str, Any]:
    """Return the settings for ``results.json``."""
    return asdict(settings)
