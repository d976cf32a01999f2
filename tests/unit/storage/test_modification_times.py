"""Modification times of local files are whole milliseconds, rounded down, as Java rounds them."""

import os

import pytest

from paimon_core.storage.fsspec_storage import FsspecStorage


@pytest.mark.parametrize("nanos", [999_999, 0, 1, 977_999_999, 978_000_000, 978_000_001, 500_500_000])
def test_times_are_rounded_down(tmp_path, nanos):
    """The float of some of these times is the next whole millisecond."""
    at = 1_795_827_447 * 10**9 + nanos
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in tmp_path.iterdir():
        os.utime(path, ns=(at, at))
    found = {entry.name: entry.modified_millis for entry in FsspecStorage("file").list(str(tmp_path))}
    assert found == {"file": at // 10**6, "folder": at // 10**6}
