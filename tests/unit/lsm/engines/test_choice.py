import pytest

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.engines.choice import merge_engine
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import parse_type


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation", "partial-update"])
@pytest.mark.parametrize("kind", ["ARRAY<INT>", "MAP<STRING, INT>", "ROW<a INT>"])
def test_rows_are_not_ordered_by_nested_values(engine, kind):
    fields = (DataField(0, "k", parse_type("INT NOT NULL")), DataField(1, "s", parse_type(kind)))
    schema = TableSchema(0, fields, highest_field_id=1, partition_keys=(), primary_keys=("k",), options={})
    options = TableOptions.parse({"merge-engine": engine, "sequence.field": "s"})
    with pytest.raises(UnsupportedFeature, match="option sequence.field names 's', which is"):
        merge_engine(schema, options)
