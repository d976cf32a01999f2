"""The done mark of a partition: a file with two times, of which the first never changes."""

from __future__ import annotations

import json

import pytest

from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.maintain.partition_done import mark_done
from tests.support.fake_tables import fake_table, files_on_storage


def marked(context, path):
    return json.loads(context.storage.read(path))


def test_the_file_tells_the_first_and_the_last_time():
    context = fake_table()
    (path,) = mark_done(context, [{"p": "a"}], 1000)
    assert path.endswith("/p=a/_SUCCESS")
    assert context.storage.read(path) == b'{\n  "creationTime" : 1000,\n  "modificationTime" : 1000\n}'
    mark_done(context, [{"p": "a"}, {"p": "b"}], 2000)
    assert marked(context, path) == {"creationTime": 1000, "modificationTime": 2000}
    assert {p for p in files_on_storage(context) if "_SUCCESS" in p} == {"p=a/_SUCCESS", "p=b/_SUCCESS"}


def test_null_and_odd_values_have_directories_too():
    context = fake_table()
    paths = mark_done(context, [{"p": None}, {"p": "x/y=z"}], 1)
    assert [p.removeprefix(context.paths.root) for p in paths] == [
        "/p=__DEFAULT_PARTITION__/_SUCCESS",
        "/p=x%2Fy%3Dz/_SUCCESS",
    ]


def test_a_file_that_says_nothing_is_written_anew():
    context = fake_table()
    context.storage.write(context.paths.success_file("p=a"), b"")
    (path,) = mark_done(context, [{"p": "a"}], 5)
    assert marked(context, path) == {"creationTime": 5, "modificationTime": 5}


@pytest.mark.parametrize("spec", [{}, {"p": "a", "k": 1}, {"k": 1}, "p=a"])
def test_what_is_no_whole_partition_is_refused(spec):
    with pytest.raises(InvalidRequest, match="is no partition"):
        mark_done(fake_table(), [spec], 1)


def test_a_value_of_another_type_is_refused_and_nothing_is_written():
    context = fake_table()
    before = files_on_storage(context)
    with pytest.raises(SchemaMismatch, match="'p'"):
        mark_done(context, [{"p": "a"}, {"p": 7}], 1)
    assert files_on_storage(context) == before


@pytest.mark.parametrize("action", ["done-partition", "success-file,mark-event", "http-report", "custom"])
def test_actions_that_need_a_metastore_are_refused_by_name(action):
    context = fake_table(**{"partition.mark-done-action": action})
    with pytest.raises(UnsupportedFeature, match=action):
        mark_done(context, [{"p": "a"}], 1)
