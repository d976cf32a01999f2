"""Processes: the processor seconds of a benchmark, of its JVM and of the workers of Spark."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import NamedTuple

import psutil


class Seconds(NamedTuple):
    """Processor seconds by process."""

    jvm: float
    workers: float
    driver: float

    @property
    def total(self) -> float:
        """The sum."""
        return self.jvm + self.workers + self.driver

    def since(self, start: Seconds) -> Seconds:
        """Return the seconds after ``start``."""
        return Seconds(self.jvm - start.jvm, self.workers - start.workers, self.driver - start.driver)


@dataclass
class Processes:
    """Counts the processor seconds of this process, its JVM and Spark's workers; ended workers count too."""

    workers: dict[int, float] = field(default_factory=dict)

    def used(self) -> Seconds:
        """Return the seconds until now."""
        jvm, own = 0.0, psutil.Process().cpu_times()
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                spent, is_jvm = process.cpu_times(), process.name() == "java"
                if is_jvm and "kafka.Kafka" not in process.cmdline():  # not the broker of a benchmark
                    jvm += spent.user + spent.system
                elif not is_jvm and process.name().startswith("python") and "moto.server" not in process.cmdline():
                    self.workers[process.pid] = spent.user + spent.system
        return Seconds(jvm, sum(self.workers.values()), own.user + own.system)
