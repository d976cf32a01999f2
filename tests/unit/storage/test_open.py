import builtins
import pickle
import sys

import pytest

from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.open import open_storage
from paimon_core.storage.secret import Secret

LOCAL, MEMORY = FsspecStorage("file"), FsspecStorage("memory")


def test_local_urls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert open_storage(f"{tmp_path}/lake/") == (LOCAL, f"{tmp_path}/lake")
    assert open_storage("lake") == (LOCAL, f"{tmp_path}/lake")
    assert open_storage("file:///data/lake/") == (LOCAL, "/data/lake")
    assert open_storage("file:/data/lake") == (LOCAL, "/data/lake")
    for url in ("memory://lake/x", "memory:///lake/x/", "memory://lake//./x"):
        assert open_storage(url) == (MEMORY, "/lake/x")
    assert open_storage("memory://") == (MEMORY, "")


def test_a_tilde_at_the_start_of_a_plain_path_is_the_home_directory(tmp_path, monkeypatch):
    home = str(tmp_path / "home")
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    assert open_storage("~/lake") == (LOCAL, f"{home}/lake")
    assert open_storage("~") == (LOCAL, home)
    assert open_storage("./~/lake") == (LOCAL, f"{tmp_path}/~/lake")
    assert open_storage("lake/~") == (LOCAL, f"{tmp_path}/lake/~")


def test_the_home_directory_of_an_unknown_user_is_refused():
    with pytest.raises(InvalidRequest, match=r"'~no-such-user' has no home directory; write '\./~no-such-user/lake'"):
        open_storage("~no-such-user/lake")


@pytest.mark.parametrize(
    ("url", "kind", "base"),
    [
        ("s3://bucket/lake/", "s3", "s3://bucket/lake"),
        ("s3a://bucket//a//b", "s3", "s3://bucket/a/b"),
        ("S3://bucket", "s3", "s3://bucket"),
        ("gs://bucket/lake", "gcs", "gs://bucket/lake"),
        ("az://box/lake", "azure", "abfs://box/lake"),
        ("abfss://box@acc.dfs.core.windows.net/lake", "azure", "abfs://box@acc.dfs.core.windows.net/lake"),
    ],
)
def test_object_stores(url, kind, base):
    assert open_storage(url) == (ObjectStorage(kind, base), base)


@pytest.mark.parametrize("scheme", ["hdfs", "http", "ftp", "simplecache::s3", "s3::file", "C"])
def test_other_schemes_are_named(scheme):
    with pytest.raises(UnsupportedFeature, match=scheme.lower()):
        open_storage(f"{scheme}://bucket/lake")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "  ",
        "/",
        "file:///",
        "file://host/lake",
        "/a\0b",
        "s3:/bucket/lake",
        "s3:///lake",
        "s3://",
        "s3://key:secret@bucket/lake",
        "s3://key@bucket/lake",
        "s3://bucket/../other",
        "s3://bucket/a/./b",
        "s3://bucket/a?versionId=1",
        "s3://bucket/a#1",
        "s3://bucket/a\nb",
        "s3://bucket/a\\b",
        "abfs://a@b@c/lake",
    ],
)
def test_urls_that_cannot_be_a_warehouse(url):
    with pytest.raises(InvalidRequest):
        open_storage(url)


@pytest.mark.parametrize(
    ("url", "options", "named"),
    [
        ("/lake", {"s3.region": "x"}, r"s3\.region"),
        ("s3://b/l", {"s3.regoin": "x"}, r"s3\.regoin.*s3\.region"),
        ("s3://b/l", {"fs.gs.project.id": "x"}, r"fs\.gs"),
        ("s3://b/l", {"s3.verify": "false"}, "verify"),
        ("s3://b/l", {"s3.region": ""}, "empty"),
        ("s3://b/l", {"s3.path.style.access": "yes"}, "true, false"),
        ("s3://b/l", {"s3.access-key": "x"}, r"s3\.secret-key"),
        ("gs://b/l", {"fs.gs.auth.type": "x"}, "COMPUTE_ENGINE"),
        ("az://b/l", {"azure.client-id": "x", "azure.tenant-id": "y"}, "client-secret"),
    ],
)
def test_options_that_are_not_supported_are_named(url, options, named):
    with pytest.raises(InvalidOption, match=named):
        open_storage(url, options)


def test_secrets_are_hidden_and_can_be_pickled():
    storage, _ = open_storage("s3://b/l", {"s3.access-key": "AKIA", "s3.secret-key": "hush", "s3.region": "r"})
    assert storage.options == (
        ("s3.access-key", Secret("AKIA")),
        ("s3.region", "r"),
        ("s3.secret-key", Secret("hush")),
    )
    assert "AKIA" not in repr(storage)
    assert "hush" not in f"{storage} {storage.options}"
    copy = pickle.loads(pickle.dumps(storage))  # noqa: S301
    assert copy == storage
    assert hash(copy) == hash(storage)
    with pytest.raises(InvalidOption) as error:
        open_storage("s3://b/l", {"s3.secret-key": "hush"})
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [("s3://b/l", "s3fs", "s3"), ("gs://b/l", "gcsfs", "gcs"), ("az://b/l", "adlfs", "azure")],
)
def test_a_missing_client_names_the_extra(monkeypatch, url, package, extra):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **kwargs)

    for module in [m for m in sys.modules if m.startswith("paimon_core.storage.") and m.endswith(f".{extra}")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnsupportedFeature, match=rf"pip install 'paimon-core\[{extra}\]'"):
        open_storage(url)


def test_different_credentials_never_share_a_connection():
    def store(**secrets):
        options = {"s3.access-key": "k", "s3.secret-key": "s", "s3.region": "r"}
        storage, _ = open_storage("s3://b/l", options | {f"s3.{n.replace('_', '-')}": v for n, v in secrets.items()})
        return storage._store

    assert store() is store()
    stores = [store(), store(access_key="other"), store(secret_key="other"), store(session_token="other")]
    clients = [client for s in stores for client in (s.client, s.once)]
    assert len({id(client) for client in clients}) == 8
