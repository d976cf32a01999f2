import pytest

from paimon_core.errors import InvalidOption
from paimon_core.options import TableOptions
from paimon_core.options.scan_position import scan_position


@pytest.mark.parametrize(
    ("options", "position"),
    [
        ({}, None),
        ({"scan.mode": "latest"}, None),
        ({"log.scan": "full"}, None),
        ({"scan.snapshot-id": "3"}, ("scan.snapshot-id", 3)),
        ({"scan.mode": "default", "scan.tag-name": "a"}, ("scan.tag-name", "a")),
        ({"scan.mode": "from-snapshot", "scan.version": "a"}, ("scan.version", "a")),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "3"}, ("scan.snapshot-id", 3)),
        ({"scan.watermark": "9"}, ("scan.watermark", 9)),
        ({"log.scan.timestamp-millis": "5"}, ("scan.timestamp-millis", 5)),
        ({"incremental-between": " 1, b"}, ("incremental-between", ("1", "b"))),
        ({"incremental-between": " "}, None),
        ({"incremental-between-timestamp": "5,9"}, ("incremental-between-timestamp", (5, 9))),
        ({"scan.timestamp": "1970-01-01T00:00:01.5Z"}, ("scan.timestamp", 1500)),
    ],
)
def test_which_option_selects_the_snapshot(options, position):
    assert scan_position(TableOptions.parse(options)) == position


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan.snapshot-id": "3", "scan.tag-name": "a"}, "scan.snapshot-id and scan.tag-name exclude each other"),
        ({"scan.mode": "latest", "scan.snapshot-id": "3"}, "scan.snapshot-id does not apply under scan.mode = latest"),
        ({"scan.mode": "from-snapshot-full", "scan.tag-name": "a"}, "scan.tag-name does not apply"),
        ({"scan.mode": "incremental"}, "needs incremental-between"),
        ({"incremental-between": "1,2", "scan.tag-name": "a"}, "exclude each other"),
        ({"scan.mode": "from-timestamp"}, "needs scan.timestamp or scan.timestamp-millis"),
    ],
)
def test_options_that_contradict_each_other(options, message):
    with pytest.raises(InvalidOption, match=message):
        scan_position(TableOptions.parse(options))
