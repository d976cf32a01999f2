from pathlib import Path

import dagster as dg
import pytest

from paimon_dagster import resources
from paimon_dagster.resources import SparkResource
from paimon_lake.declarations import Settings
from tests.support.declared_lakes import declared_lake


class FakeSession:
    def __init__(self, settings: Settings) -> None:
        self.warehouse = settings.warehouse
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_a_run_starts_one_session_when_a_step_asks_and_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[FakeSession] = []

    def start(settings: Settings) -> FakeSession:
        started.append(FakeSession(settings))
        return started[-1]

    monkeypatch.setattr(resources, "start_session", start)
    folder = declared_lake(tmp_path / "lake", {}).folder
    resource = SparkResource(environment="local", warehouse="/nowhere/lake", configs=str(folder))
    assert started == []
    assert resource.session() is resource.session()
    assert [s.warehouse for s in started] == ["/nowhere/lake"]
    resource.teardown_after_execution(dg.build_init_resource_context())
    assert started[0].stopped
    resource.teardown_after_execution(dg.build_init_resource_context())
    assert len(started) == 1


def test_a_kept_session_is_not_stopped_after_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "start_session", FakeSession)
    resource = SparkResource(environment="local", warehouse="/nowhere/lake", keep_session=True)
    session = resource.session()
    resource.teardown_after_execution(dg.build_init_resource_context())
    assert not session.stopped
    assert resource.session() is not session  # the next run asks start_session again
