"""The done mark of a partition: a file with two times, of which the first never changes."""

from __future__ import annotations

import json
from functools import partial

import pytest

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest, NotFound, SchemaMismatch, UnsupportedFeature
from paimon_core.maintain.partition_done import mark_done
from tests.support.commits import commit
from tests.support.fake_tables import fake_file, fake_table, files_on_storage, message, reopened
from tests.support.faulty_storage import FaultyStorage


def table_of(*values):
    """Return a table with one file in each of these partitions."""
    context = fake_table()
    commit([message(context, fake_file(context, of=v), of=v) for v in values], context=context, user="u")
    return context


def marked(context, path):
    return json.loads(context.storage.read(path))


def test_the_file_stores_the_first_and_the_last_time():
    context = table_of("a", "b")
    (path,) = mark_done(context, [{"p": "a"}], 1000)
    assert path.endswith("/p=a/_SUCCESS")
    assert context.storage.read(path) == b'{\n  "creationTime" : 1000,\n  "modificationTime" : 1000\n}'
    mark_done(context, [{"p": "a"}, {"p": "b"}], 2000)
    assert marked(context, path) == {"creationTime": 1000, "modificationTime": 2000}
    assert {p for p in files_on_storage(context) if "_SUCCESS" in p} == {"p=a/_SUCCESS", "p=b/_SUCCESS"}


def test_null_and_values_with_special_characters_have_directories():
    context = table_of(None, "x/y=z")
    paths = mark_done(context, [{"p": None}, {"p": "x/y=z"}], 1)
    assert [p.removeprefix(context.paths.root) for p in paths] == [
        "/p=__DEFAULT_PARTITION__/_SUCCESS",
        "/p=x%2Fy%3Dz/_SUCCESS",
    ]


def test_a_file_that_cannot_be_parsed_is_replaced():
    context = table_of("a")
    context.storage.write(context.paths.success_file("p=a"), b"")
    (path,) = mark_done(context, [{"p": "a"}], 5)
    assert marked(context, path) == {"creationTime": 5, "modificationTime": 5}


@pytest.mark.parametrize("spec", [{}, {"p": "a", "k": 1}, {"k": 1}, "p=a"])
def test_an_incomplete_partition_is_refused(spec):
    with pytest.raises(InvalidRequest, match="is no partition"):
        mark_done(fake_table(), [spec], 1)


def test_a_value_of_another_type_is_refused_and_nothing_is_written():
    context = table_of("a")
    before = files_on_storage(context)
    with pytest.raises(SchemaMismatch, match="'p'"):
        mark_done(context, [{"p": "a"}, {"p": 7}], 1)
    assert files_on_storage(context) == before


@pytest.mark.parametrize("values", [("a",), ()], ids=["other partition", "no snapshot"])
def test_a_partition_that_does_not_exist_is_refused_by_name_and_nothing_is_written(values):
    context = table_of(*values) if values else fake_table()
    before = files_on_storage(context)
    with pytest.raises(NotFound, match=r"table db\.t has no partition p=b to mark as done"):
        mark_done(context, [*({"p": v} for v in values), {"p": "b"}], 1)
    assert files_on_storage(context) == before
    assert not context.storage.exists(f"{context.paths.root}/p=b")


def test_a_partition_that_was_dropped_is_refused():
    context = table_of("a", "b")
    commit([], context=context, user="u", overwrite=Overwrite(lambda partition: True))
    with pytest.raises(NotFound, match="no partition p=a"):
        mark_done(context, [{"p": "a"}], 1)


def test_a_partition_that_is_dropped_between_the_check_and_the_write_is_marked():
    context = table_of("a")
    storage = FaultyStorage(context.storage)
    drop = partial(commit, [], context=context, user="u", overwrite=Overwrite(lambda partition: True))
    storage.before("overwrite", "_SUCCESS", drop)
    (path,) = mark_done(reopened(context, storage), [{"p": "a"}], 1)
    assert marked(context, path) == {"creationTime": 1, "modificationTime": 1}


@pytest.mark.parametrize("action", ["done-partition", "success-file,mark-event", "http-report", "custom"])
def test_actions_that_need_a_metastore_are_refused_by_name(action):
    context = fake_table(**{"partition.mark-done-action": action})
    with pytest.raises(UnsupportedFeature, match=action):
        mark_done(context, [{"p": "a"}], 1)
