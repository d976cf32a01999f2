"""Removable files: the candidates with their recorded sizes."""

import dataclasses

from paimon_core.maintain.planning.plan import PlannedFile
from paimon_core.maintain.references.removable_files import RemovableFiles
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from tests.support.fake_tables import append, fake_file, fake_table, partition


def test_a_data_file_has_its_size_and_its_extra_files_have_none():
    context = fake_table()
    file = dataclasses.replace(fake_file(context, name="data-1.parquet"), extra_files=("x.index",))
    removable = RemovableFiles(context)
    removable.add_file(ManifestEntry(FileKind.ADD, partition("a"), 0, 2, file))
    bucket = f"{context.paths.root}/p=a/bucket-0"
    assert removable.files() == ([PlannedFile(f"{bucket}/data-1.parquet", 4), PlannedFile(f"{bucket}/x.index", 0)], [])


def test_a_manifest_list_without_a_recorded_size_counts_as_empty():
    context = fake_table()
    snapshot = append(context)
    removable = RemovableFiles(context)
    removable.add_lists(dataclasses.replace(snapshot, base_manifest_list_size=None))
    sizes = {file.path: file.size for file in removable.files()[1]}
    assert sizes[context.paths.manifest(snapshot.base_manifest_list)] == 0
    assert sizes[context.paths.manifest(snapshot.delta_manifest_list)] == snapshot.delta_manifest_list_size
    assert len(sizes) == 3
