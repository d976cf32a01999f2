"""Keys of a slot in errors: below ``source``, or below the database in ``base.yaml``."""

from __future__ import annotations

import pytest

from paimon_lake.loads.postgres.slot_keys import named_keys, naming_keys
from paimon_lake.protocol import PipelineError


def test_a_key_of_the_slot_is_named_where_it_is_declared():
    text = "name another in source.slot; source.publication, source.split, resource.slot"
    assert named_keys(text, "") == text
    assert named_keys(text, "shop") == (
        "name another in postgres.shop.slot; postgres.shop.publication, source.split, resource.slot"
    )


def test_errors_are_changed():
    with pytest.raises(PipelineError, match=r"^raise postgres\.shop\.transaction_bytes$"), naming_keys("shop"):
        raise PipelineError("raise source.transaction_bytes")
