"""The runs of the demo: what a failing check does."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from assets.demo.runs import Demo, DemoFailed
from paimon_lake.declarations import Settings


def demo_of(instance: dg.DagsterInstance, severity: dg.AssetCheckSeverity) -> Demo:
    """A demo with the job ``audit``, whose only check does not pass."""

    @dg.asset_check(asset=dg.AssetKey(["shop", "orders"]))
    def fresh() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, severity=severity, description="2 days old")

    job = dg.define_asset_job("audit", dg.AssetSelection.all_asset_checks())
    definitions = dg.Definitions(
        assets=[dg.AssetSpec(["shop", "orders"])], asset_checks=[fresh], jobs=[job], executor=dg.in_process_executor
    )
    return Demo(Settings.model_construct(), instance, definitions)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def test_a_check_of_severity_error_ends_the_demo(instance: dg.DagsterInstance) -> None:
    with pytest.raises(DemoFailed, match="checks failed: shop/orders fresh: 2 days old"):
        demo_of(instance, dg.AssetCheckSeverity.ERROR).run_job("check", "all tables", "audit")


def test_a_check_of_severity_warn_is_only_told(
    instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    demo_of(instance, dg.AssetCheckSeverity.WARN).run_job("check", "all tables", "audit")
    assert "0 checks passed; warning: shop/orders fresh: 2 days old" in capsys.readouterr().out
