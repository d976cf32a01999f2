"""Strict mode: which snapshots of other users make a commit fail."""

import dataclasses

import pytest

from paimon_core.codec.avro.container import write_avro
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, message, partition

OPTION = "commit.strict-mode.last-safe-snapshot"


def strict(context, safe):
    """Return the same table with the option."""
    return context.with_dynamic({OPTION: str(safe)})


def compacted(context, user="other", of="a"):
    file = fake_file(context, of=of)
    append_to(context, file, of=of)
    work = message(context, before=(file,), after=(fake_file(context, of=of, level=5),), of=of)
    commit([work], context=context, user=user)


def append_to(context, *files, user="u", of="a"):
    return commit([message(context, *files, of=of)], context=context, user=user)


def test_a_compaction_by_another_stops_a_commit_into_its_partition():
    context = fake_table()
    append(context)
    compacted(context)
    mine = strict(context, 1)
    with pytest.raises(CommitConflict, match=r"snapshot 3 \(compaction of user other\).*set the option to 3") as caught:
        append(mine, user="me")
    assert caught.value.facts["other_user"] == "other"
    append_to(mine, fake_file(context, of="b"), user="me", of="b")
    append(strict(context, 3), user="me")
    append(strict(context, -1), user="me")
    assert context.snapshots.latest_id() == 6


def test_ones_own_compaction_and_others_appends_do_not():
    context = fake_table()
    compacted(context, user="me")
    append(context, user="other")
    assert append(strict(context, 0), user="me").id == 4


def test_others_appends_stop_an_overwrite():
    context = fake_table()
    append(context, user="other")
    new = fake_file(context)
    with pytest.raises(CommitConflict, match="append commit of user other"):
        commit([message(context, new)], context=strict(context, 0), user="me", overwrite=Overwrite())
    commit([message(context, new)], context=strict(context, 1), user="me", overwrite=Overwrite())


def test_a_snapshot_that_has_expired_cannot_be_trusted():
    context = fake_table()
    append(context)
    append(context)
    context.snapshots.delete([1])
    with pytest.raises(CommitConflict, match="snapshot 1 has expired"):
        append(strict(context, 0), user="me")
    append(strict(context, 1), user="me")


def test_an_index_that_another_changed_in_the_partition_counts():
    context = fake_table(keyed=False)
    append(context)
    latest = context.snapshots.read(1)
    name = "index-manifest-1"
    record = {"name": "record", "type": "record", "fields": [{"name": "_PARTITION", "type": "bytes"}]}
    context.storage.write(context.paths.manifest(name), write_avro(record, [{"_PARTITION": partition("a")}]))
    compaction = dataclasses.replace(
        latest, id=2, uuid="x", commit_user="other", commit_kind="OVERWRITE", index_manifest=name,
        delta_manifest_list=context.manifests.write_list([])[0], delta_manifest_list_size=None,
    )  # fmt: skip
    context.snapshots.publish(compaction)
    context.snapshots.publish(dataclasses.replace(compaction, id=3, uuid="y"))
    with pytest.raises(CommitConflict, match="snapshot 2"):
        append(strict(context, 1), user="me")
    append(strict(context, 2), user="me")
    append_to(strict(context, 1), fake_file(context, of="b"), user="me", of="b")
