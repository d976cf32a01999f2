"""The history that a stream has read, compared with the snapshots that exist."""

import pytest

from paimon_core.errors import ReadOutdated
from paimon_core.plan.stream_plan import check_history
from tests.support.fake_tables import append, fake_table


def test_a_position_above_all_snapshots_names_the_last_snapshot_that_was_read():
    context = fake_table()
    append(context)
    append(context)
    check_history(context, 3, "", "", None)
    with pytest.raises(ReadOutdated, match="snapshot 4, which the stream has read") as caught:
        check_history(context, 5, "", "", None)
    assert caught.value.facts["snapshot"] == 4
