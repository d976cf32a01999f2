"""A process that follows the table ``shop.o`` of a lake, with tasks in this process, until it is killed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from paimon_core.errors import PaimonError
from paimon_lake.loads import write_tasks
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka import broker, messages
from tests.support.lakes import SmallLake
from tests.support.tasks import in_this_process


def follow(folder: str) -> None:
    """Load the table again and again; a load that fails, as while the broker is down, is repeated."""
    write_tasks.collect_tasks = in_this_process
    broker.WAIT_SECONDS, messages.STALL_SECONDS = 2.0, 2.0
    lake = SmallLake(Path(folder), SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))
    while True:
        try:
            lake.load("shop.o")
        except (PipelineError, PaimonError) as error:
            print(error)
