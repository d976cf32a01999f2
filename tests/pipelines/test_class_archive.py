"""The class archive: recorded once, used when it is whole, ignored without a word otherwise."""

import shlex
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from assets.demo import record_classes
from paimon_lake import class_archive
from paimon_lake.class_archive import archive_options
from paimon_lake.declarations import load_settings
from paimon_lake.session import _configuration

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The place of archives in an environment with Java 21.0.2."""
    java = tmp_path / "java"
    (java / "bin").mkdir(parents=True)
    (java / "bin" / "java").write_text("#!/bin/sh\n")
    (java / "bin" / "java").chmod(0o755)
    release(java, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "my env"))
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")
    path = tmp_path / "my env" / "share" / "paimon-lake"
    path.mkdir(parents=True)
    return path


def release(java, version):
    (java / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')


def archive(folder, content=b"classes", versions="pyspark-4.3.0-java-21.0.2"):
    new = folder / "new"
    new.write_bytes(content)
    return new.rename(folder / f"{versions}-{class_archive.digest_of(new)}.jsa")


def test_a_local_session_uses_the_archive_and_the_settings_have_the_last_word(folder):
    path = archive(folder)
    settings = load_settings("local")
    options = shlex.split(_configuration(settings)[JAVA_OPTIONS])
    assert options[:3] == [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:cds*=off"]
    assert options[3:-1] == settings.spark.conf[JAVA_OPTIONS].split()


def test_a_session_on_a_cluster_uses_no_archive(folder):
    archive(folder)
    assert "SharedArchiveFile" not in _configuration(load_settings("prod"))[JAVA_OPTIONS]


@pytest.mark.parametrize("content", [b"", b"class", b"classes and more", b"rubbish"])
def test_a_damaged_archive_is_not_used(folder, content):
    path = archive(folder)
    path.write_bytes(content)
    assert archive_options() == ""


@pytest.mark.parametrize("versions", ["pyspark-4.2.0-java-21.0.2", "pyspark-4.3.0-java-17.0.1"])
def test_an_archive_of_other_versions_is_not_used(folder, versions):
    archive(folder, versions=versions)
    assert archive_options() == ""


def test_an_archive_that_cannot_be_read_is_not_used(folder):
    path = archive(folder)
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "missing")
    assert archive_options() == ""


@pytest.mark.parametrize("version", ["11.0.1", "1.8.0_402", "x"])
def test_another_java_uses_no_archive(folder, tmp_path, version):
    release(tmp_path / "java", version)
    archive(folder, versions=f"pyspark-4.3.0-java-{version}")
    assert archive_options() == ""


def test_a_java_without_a_release_file_or_no_java_uses_no_archive(folder, tmp_path, monkeypatch):
    archive(folder)
    (tmp_path / "java" / "release").unlink()
    assert archive_options() == ""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert archive_options() == ""


def test_a_new_archive_replaces_those_of_this_java_and_of_older_sparks(folder, monkeypatch):
    old = [archive(folder, b"old"), archive(folder, versions="pyspark-4.2.0-java-21.0.2"), folder / ".new-1.jsa"]
    old[2].write_bytes(b"of a process that was killed")
    other_java = archive(folder, versions="pyspark-4.3.0-java-17.0.1")
    monkeypatch.setattr(record_classes, "_record", lambda path: path.write_bytes(b"new"))
    path = record_classes.create_archive()
    assert set(folder.iterdir()) == {path, other_java}
    assert archive_options().startswith(f"'-XX:SharedArchiveFile={path}'")


def test_an_archive_that_cannot_be_created_is_only_a_note(folder, monkeypatch, capsys):
    def fail(path):
        path.write_bytes(b"a part")
        raise record_classes.ArchiveFailed("Java wrote no archive")

    monkeypatch.setattr(record_classes, "_record", fail)
    assert record_classes.main() == 1
    assert list(folder.iterdir()) == []
    said = capsys.readouterr()
    assert said.err == "note: no class archive was created, so Spark starts more slowly: Java wrote no archive\n"


@pytest.mark.java
def test_java_ignores_an_archive_of_other_classes_without_a_word(tmp_path):
    java = str(class_archive.find_java() or pytest.skip("no Java"))
    version, path = class_archive.java_version(), tmp_path / "a.jsa"
    run(java, f"-XX:ArchiveClassesAtExit={path}", "-Xlog:cds*=off", "-cp", str(tmp_path / "other.jar"), "-version")
    options = class_archive.java_options(path, version)
    plain = run(java, "-version")
    assert run(java, *options, "-cp", str(tmp_path / "other.jar"), "-version") == plain
    for flags in ([], ["-cp", "."], ["-XX:+UseZGC"], ["-XX:-UseCompressedOops"], ["-Xmx40g"]):
        assert run(java, *options, *flags, "-version")[:2] == run(java, *flags, "-version")[:2]
    path.write_bytes(b"rubbish" * 1000)
    record_classes._check(path, version)
    Path(path).unlink()
    record_classes._check(path, version)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout, len(done.stderr.splitlines()), done.returncode


def test_a_lake_on_a_store_needs_no_landing_directory_to_start_spark(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("warehouse: s3://lake/warehouse\n")
    (tmp_path / "local.yaml").write_text("")
    settings = load_settings("local", configs=tmp_path)
    assert _configuration(settings)["spark.sql.warehouse.dir"].endswith("/spark-warehouse")
