import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.partial_update import PartialUpdate
from paimon_core.lsm.engines.partial_update_rules import partial_update
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema

ON_DELETE = "partial-update.remove-record-on-delete"
ON_GROUP = "partial-update.remove-record-on-sequence-group"
GROUP = {"fields.g.sequence-group": "a,b"}


def made(options: dict[str, str]) -> PartialUpdate:
    options = {"merge-engine": "partial-update", "bucket": "1"} | options
    columns = {"k": pa.int32(), "g": pa.int32(), "h": pa.int32(), "a": pa.int32(), "b": pa.int32()}
    columns |= {"l": pa.list_(pa.int32())}
    schema = new_schema(pa.schema(columns), primary_key=["k"], options=options)
    return partial_update(schema, TableOptions.parse(options, creating=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields.g.sequence-group": "a,x"}, "fields.g.sequence-group names 'x', which is no column"),
        ({"fields.x.sequence-group": "a"}, "fields.x.sequence-group names 'x', which is no column"),
        ({"fields.g.sequence-group": "a,k"}, "names 'k': a column of the primary key"),
        ({"fields.k.sequence-group": "a"}, "names 'k': a column of the primary key"),
        ({"fields.l.sequence-group": "a"}, "orders by 'l', which is ARRAY<INT>"),
        (GROUP | {"fields.h.sequence-group": "b"}, "'b' is in a sequence group twice.*fields.g.*fields.h"),
        (GROUP | {"fields.h.sequence-group": "g"}, "'g' is in a sequence group twice"),
        (GROUP | {"fields.g,h.sequence-group": "l"}, "'g' is in a sequence group twice"),
        ({"fields.g.sequence-group": "a,a"}, "'a' is in a sequence group twice"),
        ({"ignore-delete": "true", ON_DELETE: "true"}, f"{ON_DELETE} and ignore-delete exclude each other"),
        (GROUP | {"ignore-delete": "true", ON_GROUP: "g"}, f"{ON_GROUP} and ignore-delete exclude"),
        (GROUP | {ON_DELETE: "true"}, f"{ON_DELETE} and fields.<columns>.sequence-group exclude"),
        (GROUP | {ON_GROUP: "g,a"}, f"{ON_GROUP} names 'a', which orders no sequence group"),
        ({ON_GROUP: "g"}, f"{ON_GROUP} names 'g', which orders no sequence group"),
        ({"fields.a.aggregate-function": "sum"}, "'a' has the aggregate function sum and must be in a sequence group"),
        ({"fields.default-aggregate-function": "max"}, "'g' has the aggregate function max and must be in a"),
        (GROUP | {"fields.g.aggregate-function": "max"}, "fields.g.aggregate-function: a column of sequence.field"),
        (
            {"sequence.field": "a", "fields.a.aggregate-function": "last_non_null_value"},
            "fields.a.aggregate-function: a column of sequence.field",
        ),
        (GROUP | {"fields.a.ignore-retract": "true"}, "fields.a.* have no effect"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InvalidRequest, match=message):
        made(options)


def test_what_the_engine_knows():
    engine = made(GROUP | {"fields.h.sequence-group": "h,l", ON_GROUP: "h", "fields.a.aggregate-function": "sum"})
    assert engine.removing == (("h",),)
    assert set(engine.functions) == {"a"}
    assert engine.columns == {"g", "h", "a", "b", "l"}


def test_last_non_null_value_needs_no_group():
    assert made({"fields.default-aggregate-function": "last_non_null_value"}).functions == {}
    assert made({"fields.a.aggregate-function": "last_non_null_value"}).functions == {}


def test_a_default_function_is_that_of_the_protected_columns():
    everything = {"fields.g.sequence-group": "a,b,h", "fields.default-aggregate-function": "last_value"}
    with pytest.raises(InvalidRequest, match="'l' has the aggregate function last_value"):
        made(everything)
    engine = made(everything | {"fields.l.aggregate-function": "last_non_null_value"})
    assert {name: function.name for name, function in engine.functions.items()} == dict.fromkeys("hab", "last_value")
