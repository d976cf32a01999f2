"""References and candidates in parts: workers that each process a chunk find what one process finds."""

from __future__ import annotations

import pickle

import pytest

from paimon_core.errors import CorruptTable
from paimon_core.maintain.candidate_files import Kind, candidates, directories
from paimon_core.maintain.references.used_files import Used, data_names, metadata_names, references, used_names
from paimon_core.maintain.roots import all_roots
from paimon_core.maintain.tags.operations import create_tag
from tests.support.fake_tables import append, commit, compacted, fake_file, fake_table, message, reopened
from tests.support.faulty_storage import FaultyStorage
from tests.support.orphan_tables import everything, make_branch, stray, three_days_on


def table():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(2))
    append(make_branch(context, "b", 1))
    stray(context)
    return context


def test_names_that_are_read_in_parts_are_the_same_as_those_read_at_once():
    context = table()
    roots = list(all_roots(context))
    whole = used_names(context, roots)
    assert whole == set().union(*(used_names(context, [root]) for root in roots))
    reached = metadata_names(context, roots)
    parts = [data_names(context, {name: must}) for name, must in reached.manifests.items()]
    assert whole == reached.names | set().union(*parts)
    names = {path.rsplit("/", 1)[1] for path in everything(context)}
    used = references(context, names)
    assert used.names == whole
    assert used.roots == len(roots)
    assert pickle.loads(pickle.dumps(reached)) == reached  # noqa: S301


def test_only_requested_names_are_returned():
    context = table()
    wanted = {next(iter(data_names(context, metadata_names(context, all_roots(context)).manifests)))}
    used = references(context, wanted)
    assert {n for n in used.names if n.startswith("data-")} == wanted
    assert not any(n.startswith("data-") for n in references(context, set()).names)


def test_a_second_scan_does_not_read_files_that_the_first_has_read():
    context = table()
    first = references(context, set())
    file = fake_file(context)
    append(context, file)
    storage = FaultyStorage(context.storage)
    second = references(reopened(context, storage), {file.file_name}, first.read)
    assert file.file_name in second.names
    read = [path for verb, path in storage.calls if verb == "read" and "/manifest/" in path]
    assert len(read) == 3  # the two lists of the new snapshot and its one new manifest
    assert first.read < second.read


def test_a_scan_that_restarts_does_not_read_a_manifest_twice():
    context = table()
    storage = FaultyStorage(context.storage)
    last = list(metadata_names(context, all_roots(context)).manifests)[-1]
    storage.before("read", last, lambda: (context.snapshots.delete([1]), context.storage.delete([storage_path])))
    storage_path = context.paths.manifest(context.snapshots.read(1).delta_manifest_list)
    used = references(reopened(context, storage), set())
    assert isinstance(used, Used)
    manifests = [p for v, p in storage.calls if v == "read" and "/manifest/manifest-" in p and "-list-" not in p]
    assert len(manifests) == len(set(manifests))


def test_directories_that_are_listed_in_parts_give_the_same_candidates_and_can_be_pickled():
    context = table()
    places = list(directories(context))
    assert {p.kind for p in places} == set(Kind)
    assert pickle.loads(pickle.dumps(places)) == places  # noqa: S301
    assert len(set(places)) == len(places)
    now = three_days_on()
    whole = {f.path for f in candidates(context, places, now).files}
    assert whole == {f.path for place in places for f in candidates(context, [place], now).files}
    assert {path for path in everything(context) if "/manifest/" in path or "/bucket-" in path} == whole
    assert candidates(context, places, 0).files == []


def test_a_missing_manifest_of_a_live_snapshot_is_an_error_that_names_it():
    context = table()
    manifest = context.manifests.manifests_of(context.snapshots.latest())[0].file_name
    context.storage.delete([context.paths.manifest(manifest)])
    fresh = reopened(context, context.storage)
    with pytest.raises(CorruptTable, match=manifest):
        references(fresh, set())


def test_the_prefixes_of_data_files_are_read_from_the_options():
    context = fake_table(**{"changelog-file.prefix": "cl_"})
    commit([message(context, fake_file(context))], context=context, user="u")
    name = "cl_00000000-0000-4000-8000-000000000000-3.parquet"
    fake_file(context, name=name)
    found = candidates(context, directories(context), three_days_on())
    assert name in {f.name for f in found.files}


def test_a_branch_of_a_table_without_schema_says_that_main_has_none(monkeypatch):
    context, _ = compacted()
    branch = make_branch(context, "b", 1)
    context.storage.delete_directory(f"{context.paths.root}/schema")
    monkeypatch.setattr("paimon_core.maintain.roots._PAUSES", ())
    with pytest.raises(CorruptTable, match=r"branch 'main' has no schema, .* the files in .*/schema were deleted"):
        list(all_roots(branch))
