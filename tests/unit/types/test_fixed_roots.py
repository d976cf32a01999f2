"""The kinds of types whose values have a fixed size, against Arrow."""

import pyarrow as pa
import pytest

from paimon_core.types import FIXED_ROOTS, TypeRoot, parse_columns

TEXTS = {
    TypeRoot.ARRAY: "ARRAY<INT>",
    TypeRoot.MAP: "MAP<INT, INT>",
    TypeRoot.MULTISET: "MULTISET<INT>",
    TypeRoot.ROW: "ROW<a INT>",
}


@pytest.mark.parametrize("root", TypeRoot)
def test_fixed_kinds_are_numbers_of_arrow(root):
    (field,) = parse_columns(f"c {TEXTS.get(root, root.value)}")
    arrow = field.type.to_arrow()
    assert (root in FIXED_ROOTS) == (pa.types.is_primitive(arrow) or pa.types.is_decimal(arrow))
