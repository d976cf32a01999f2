import os

import pytest

from paimon_core.errors import CorruptTable, InvalidRequest, UnsupportedFeature
from paimon_core.storage.external_roots import ExternalRoots
from paimon_core.storage.fsspec_storage import FsspecStorage, confined
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.rooted_storage import RootedStorage, rooted

LOCAL = FsspecStorage("file")
S3 = ObjectStorage("s3", "s3://lake/warehouse")
DISK = ExternalRoots.of(["/data/one", "file:///data/two/"], LOCAL)
BUCKETS = ExternalRoots.of(["s3a://files/part", "s3://lake/warehouse/extra"], S3)


@pytest.mark.parametrize(
    ("roots", "external", "path"),
    [
        (DISK, "file:/data/one/bucket-0/f", "/data/one/bucket-0/f"),
        (DISK, "file:///data/two/x/../bucket-0//f", "/data/two/bucket-0/f"),
        (DISK, "/data/one/f", "/data/one/f"),
        (BUCKETS, "s3://files/part/bucket-0/f", "s3://files/part/bucket-0/f"),
        (BUCKETS, "s3a://lake/warehouse/extra/f", "s3://lake/warehouse/extra/f"),
    ],
)
def test_a_file_below_a_root_has_a_normalised_path(roots, external, path):
    assert roots.resolve(external, "f") == path


@pytest.mark.parametrize(
    ("roots", "external"),
    [
        (ExternalRoots(), "file:/data/one/f"),
        (DISK, "file:/data/one/../three/f"),
        (DISK, "file:/data/one-more/f"),
        (DISK, "file:/data/one"),
        (DISK, "data/one/f"),
        (DISK, "~/data/one/f"),
        (DISK, "file://host/data/one/f"),
        (DISK, "memory:/data/one/f"),
        (DISK, "s3://files/data/one/f"),
        (DISK, "http://data/one/f"),
        (DISK, "file:/data/one/f\0"),
        (BUCKETS, "s3://files/partition/f"),
        (BUCKETS, "s3://other/part/f"),
        (BUCKETS, "s3://files/part/../f"),
        (BUCKETS, "gs://files/part/f"),
    ],
)
def test_a_file_elsewhere_is_refused_and_the_roots_are_named(roots, external):
    with pytest.raises(InvalidRequest) as refused:
        roots.resolve(external, "f")
    assert external.replace("\0", "\\x00") in str(refused.value)
    assert f"allowed_roots, which is [{', '.join(roots.paths)}]" in str(refused.value)


def test_a_path_that_ends_with_another_name_is_corrupt():
    with pytest.raises(CorruptTable, match="another file name"):
        DISK.resolve("file:/data/one/g", "f")


@pytest.mark.parametrize(
    ("allowed", "error", "problem"),
    [
        ("/data", InvalidRequest, "must be a list"),
        ([1], InvalidRequest, "must contain paths or URLs, not 1"),
        (["/"], InvalidRequest, "allowed_roots: the root of the file system"),
        (["http://host/x"], UnsupportedFeature, "allowed_roots: scheme 'http'"),
        (["s3://files/part"], UnsupportedFeature, r"another kind of store \(s3\) than the warehouse \(file\)"),
    ],
)
def test_roots_that_cannot_be_used_are_refused(allowed, error, problem):
    with pytest.raises(error, match=problem):
        ExternalRoots.of(allowed, LOCAL)


def test_no_symbolic_link_below_a_root_is_followed(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "f").write_bytes(b"x")
    os.symlink(tmp_path / "secret", tmp_path / "files" / "link")
    roots = ExternalRoots.of([tmp_path / "files"], LOCAL)
    storage = confined(LOCAL, str(tmp_path / "table"), roots.paths)
    path = roots.resolve(f"file:{tmp_path}/files/link/f", "f")
    for access in (storage.read, storage.open_input, lambda p: storage.delete([p]), lambda p: storage.write(p, b"y")):
        with pytest.raises(CorruptTable, match="is a symbolic link"):
            access(path)
    assert (tmp_path / "secret" / "f").read_bytes() == b"x"


def test_other_buckets_are_accessed_below_the_roots_only():
    storage = rooted(S3, BUCKETS)
    assert isinstance(storage, RootedStorage)
    assert [s.base for s in storage.others] == ["s3://files/part"]
    assert storage._of("s3://files/part/f").base == "s3://files/part"
    assert storage._of("s3://lake/warehouse/db.db/t/f").base == S3.base
    with pytest.raises(InvalidRequest, match="is not below the warehouse"):
        storage.read("s3://files/partition/f")
    assert rooted(LOCAL, DISK) is LOCAL
