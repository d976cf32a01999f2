from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.agreement.order import in_order


def tables(**inputs: str) -> dict[str, TableSpec]:
    specs = {}
    for name, text in inputs.items():
        of = [f"shop.{one}" for one in text.split()]
        source = {"type": "sql", "query": "SELECT 1 AS id", "inputs": of} if of else None
        values = {"name": f"shop.{name}", "columns": {"id": "INT"}, "primary_key": ["id"], "source": source}
        specs[f"shop.{name}"] = TableSpec.model_validate(values)
    return specs


def test_tables_without_inputs_are_one_sorted_group() -> None:
    assert in_order(tables(b="", a="", c="")) == [["shop.a", "shop.b", "shop.c"]]
    assert in_order({}) == []


def test_a_table_is_in_the_first_group_after_those_of_its_inputs() -> None:
    declared = tables(report="daily users", daily="orders", users="", orders="", names="users")
    assert in_order(declared) == [["shop.orders", "shop.users"], ["shop.daily", "shop.names"], ["shop.report"]]


def test_inputs_that_are_not_among_the_tables_do_not_matter() -> None:
    declared = tables(orders="", daily="orders")
    assert in_order({"shop.daily": declared["shop.daily"]}) == [["shop.daily"]]
