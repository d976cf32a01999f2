"""The flights as a lake: the declarations agree with each other, with configs/flights.py and with their schemas."""

from paimon_lake.checks import problems
from paimon_lake.declarations import environments, load_settings
from paimon_lake.declarations.agreement.order import in_order
from paimon_lake.declarations.agreement.tables import disagreements

OTHERS = ["dim.airlines", "dim.airports", "dim.planes", "ods.cancellations", "ods.flights", "ods.weather"]


def test_the_declarations_agree() -> None:
    settings = load_settings("local")
    assert disagreements(settings) == []
    assert [text for spec in settings.tables.values() for text in problems(spec)] == []


def test_tables_from_tables_are_made_last() -> None:
    assert in_order(load_settings("local").tables) == [OTHERS, ["dwd.flight_wide", "dws.carrier_day"]]


def test_every_environment_has_the_tables() -> None:
    for environment in environments():
        assert sorted(load_settings(environment).tables) == sorted([*OTHERS, "dwd.flight_wide", "dws.carrier_day"])
