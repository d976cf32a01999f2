"""The example dashboard of Grafana asks only for metrics that are exported, with labels that they have."""

import json
import re

import pytest

from paimon_core.health.metrics import gauges_of
from tests.support.project import ROOT

DASHBOARD = json.loads((ROOT / "examples/grafana/tables.json").read_text())
LABELS = {gauge.name: set(gauge.labels) for gauge in gauges_of([])}
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]] + [
    variable["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_each_metric_is_exported_with_these_labels(expression):
    asked = re.findall(r"(paimon_\w+)(?:\{([^}]*)\})?", expression)
    assert asked
    for name, selected in asked:
        assert name in LABELS
        assert set(re.findall(r"(\w+)=", selected)) <= LABELS[name]


def test_panels_have_distinct_places_and_texts():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels) >= 10
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(x < 24 for x, _ in cells)
    assert all(panel["description"].endswith(".") for panel in panels)
