import pyarrow as pa
import pytest

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema

NESTED = [pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32()), pa.struct([("a", pa.int32())])]


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation", "partial-update"])
@pytest.mark.parametrize("kind", NESTED, ids=str)
def test_rows_are_not_ordered_by_nested_values(engine, kind):
    options = {"merge-engine": engine, "sequence.field": "s"}
    columns = pa.schema([pa.field("k", pa.int32(), nullable=False), ("s", kind)])
    schema = new_schema(columns, primary_key=["k"], options=options)
    with pytest.raises(UnsupportedFeature, match=r"option sequence\.field names 's', which is"):
        merge_engine(schema, TableOptions.parse(options))
