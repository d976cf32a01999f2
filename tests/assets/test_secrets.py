"""Keys of a store are nowhere in what Dagster keeps: its runs, its event log, its logs (runs that fail included)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from paimon_core.storage.open import open_storage
from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import Settings, load_settings
from paimon_lake.tables import open_table
from tests.support.object_servers import make_bucket, s3_server
from tests.support.orders_lake import environments_of_the_project

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")
CANARIES = ("canary-access-Zk3", "canary-secret/Qp7+", "canary-token-Yy9==")


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Settings]:
    with s3_server() as endpoint:
        make_bucket(endpoint, "lake")
        monkeypatch.setenv("PAIMON_S3_ENDPOINT", endpoint)
        monkeypatch.setenv("PAIMON_S3_REGION", "us-east-1")
        for name, canary in zip(("ACCESS_KEY", "SECRET_KEY", "SESSION_TOKEN"), CANARIES, strict=True):
            monkeypatch.setenv(f"PAIMON_S3_{name}", canary)
        folder = environments_of_the_project(tmp_path / "configs")
        (folder / "tables").mkdir()
        (folder / "tables" / "dim.t.yaml").write_text("columns: {id: BIGINT, name: STRING}\nprimary_key: [id]\n")
        yield at_once(load_settings("s3", warehouse="s3://lake/w", configs=folder))


def at_once(settings: Settings) -> Settings:
    """What fails is not tried again."""
    return settings.model_copy(update={"dagster": settings.dagster.model_copy(update={"step_retries": 0})})


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(home)) as opened:
        yield opened


def test_no_key_is_kept_or_said(
    settings: Settings,
    instance: dg.DagsterInstance,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    table = open_table(settings, "dim.t", create=True)
    table.write(pa.table({"id": [1], "name": ["Ada"]}))
    definitions = build_definitions(settings)

    def run(job: str) -> dg.ExecuteInProcessResult:
        return definitions.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)

    done = [run(job) for job in ("nightly", "sweep", "doctor", "audit")]
    assert [result.success for result in done] == [True] * 4
    assert [len(result.get_asset_observation_events()) for result in done] == [2, 1, 1, 0]
    # A run whose manifest cannot be read, and one that has no bucket.
    storage, _ = open_storage(settings.warehouse, settings.storage)
    storage.delete(f.path for f in storage.walk(table.context.paths.manifest_directory))
    assert not run("nightly").success
    missing = build_definitions(at_once(load_settings("s3", warehouse="s3://not-there/w", configs=settings.folder)))
    nowhere = missing.resolve_job_def("nightly").execute_in_process(instance=instance, raise_on_error=False)
    events = "".join(repr(event) for event in nowhere.all_events)
    said = capfd.readouterr()
    everything = [events, caplog.text, said.out, said.err, repr(settings)]
    kept = [path.read_bytes().decode("latin-1") for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert any("snapshots_left" in text for text in kept), "the event log was looked at"
    everything += kept
    for canary in CANARIES:
        assert not any(canary in text for text in everything)
