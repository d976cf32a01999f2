"""The step ``doctor``: what it reports, and what it mends, without Spark."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.health.finding import Finding, Severity
from paimon_core.table.table import Table
from paimon_core.table.upkeep import mends
from paimon_lake.cli.main import main
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.health.doctor import doctor, finding_text
from tests.support.lakes import SmallLake

NAME = "log.events"


@pytest.fixture
def table(dry_lake: SmallLake) -> Table:
    """A table with nine sorted runs, and with an index that finds nothing."""
    options = "{bucket: 1, write-only: true, file-index.bloom-filter.columns: id}"
    dry_lake.declare(NAME, f"columns: {{id: BIGINT}}\nprimary_key: [id]\noptions: {options}\n")
    table = dry_lake.create(NAME)
    for _ in range(9):
        table.write(pa.table({"id": [1]}))
    return table


def test_it_reports_and_changes_nothing(dry_lake: SmallLake, table: Table) -> None:
    result = doctor(dry_lake.settings, NAME)
    assert (result.commits, result.details["findings"], result.details["mends"]) == ((), 2, 0)
    assert "many-sorted-runs: bucket 0 has 9 sorted runs" in result.note
    assert "; mend: paimon-lake doctor --table log.events --fix many-sorted-runs" in result.note
    assert table.refresh().latest_snapshot() == table.latest_snapshot()


def test_it_mends_what_is_safe_and_by_name_the_rest(dry_lake: SmallLake, table: Table) -> None:
    result = doctor(dry_lake.settings, NAME, fix=True)
    assert (result.commits, result.details["findings"], result.details["mends"]) == ((10,), 1, 1)
    assert result.note.startswith("mended many-sorted-runs; score ")
    result = doctor(dry_lake.settings, NAME, fix=True, findings=["useless-index"])
    assert (result.commits, result.details["findings"]) == ((), 0)
    assert table.refresh().schema.id == 1


def test_a_mend_that_fails_is_told(dry_lake: SmallLake, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise paimon.CommitConflict("others commit")

    monkeypatch.setattr(mends, "MENDS", mends.MENDS | {"many-sorted-runs": failing})
    with pytest.raises(PipelineError, match=r"^log\.events: 1 of 1 mends failed: many-sorted-runs: commit-conf"):
        doctor(dry_lake.settings, NAME, fix=True)


def test_unknown_findings_are_refused(dry_lake: SmallLake, table: Table) -> None:
    with pytest.raises(paimon.InvalidRequest, match="there is no finding 'slow'; there are many-sorted-runs, "):
        doctor(dry_lake.settings, NAME, fix=True, findings=["slow"])


def test_the_command(dry_lake: SmallLake, table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    here = ["--table", NAME, "--configs", str(dry_lake.folder)]
    assert main(["doctor", "--json", *here]) == 0
    assert json.loads(capsys.readouterr().out)["details"]["most_sorted_runs"] == 9
    assert main(["doctor", "--fix", "useless-index", *here]) == 0
    assert "mended useless-index; score " in capsys.readouterr().out


def test_a_new_number_of_buckets_names_the_declaration() -> None:
    finding = Finding(
        name="too-few-buckets",
        severity=Severity.WARNING,
        measure=11 << 30,
        threshold=10 << 30,
        threshold_from="bucket_bytes_most",
        text="1 bucket with 11 GiB on average",
        commands=(),
        mend_cost="",
        cost_bytes=0,
        options={"bucket": "3"},
    )
    assert finding_text("a.t", finding) == (
        "too-few-buckets: 1 bucket with 11 GiB on average; mend: paimon-lake doctor --table a.t --fix too-few-buckets; "
        "where options.bucket is declared, write 3 there as well"
    )
    assert "where options.bucket" not in finding_text("a.t", replace(finding, options={}))
