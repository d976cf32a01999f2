"""Files are found by patterns, with the partition that their path states."""

import os

import pytest

from paimon_core.storage.open import open_storage
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import list_files, partition_files


@pytest.fixture
def tree(tmp_path):
    """Creates empty files below the test's directory."""

    def create(*paths):
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(b"x")
        return tmp_path

    return create


def names(root, pattern):
    """Each file with its partition, or only the file when the pattern has no place."""
    found = list_files(f"{root}/{pattern}", {})
    return [
        (os.path.relpath(f.path, root), f.partition) if f.partition else os.path.relpath(f.path, root) for f in found
    ]


def test_wildcards(tree):
    root = tree("a/1.csv", "a/12.csv", "a/b/3.csv", "a/b/c/4.csv", "z.csv")
    assert names(root, "a/*.csv") == ["a/1.csv", "a/12.csv"]
    assert names(root, "a/?.csv") == ["a/1.csv"]
    assert names(root, "*/*/?.csv") == ["a/b/3.csv"]
    assert names(root, "a/**/*.csv") == ["a/1.csv", "a/12.csv", "a/b/3.csv", "a/b/c/4.csv"]
    assert names(root, "a/b/**") == names(root, "a/b/") == names(root, "a/b") == ["a/b/3.csv", "a/b/c/4.csv"]
    assert names(root, "z.csv") == ["z.csv"]
    assert names(root, "z.csv/") == names(root, "missing/*.csv") == names(root, "missing") == []


def test_braces_and_brackets_in_names(tree):
    root = tree("a{1}[x].csv")
    assert names(root, "a{{1}}[x].csv") == ["a{1}[x].csv"]


def test_left_out_files(tree):
    root = tree(
        "d/.a", "d/_SUCCESS", "d/a.tmp", "d/a.crc", "d/_temporary/b.csv", "d/.hidden/c.csv", "d/_p=1/d.csv", "d/e.csv"
    )
    assert names(root, "d/") == names(root, "d/**/*.csv") == ["d/_p=1/d.csv", "d/e.csv"]
    assert names(root, "d/_temporary/*.csv") == ["d/_temporary/b.csv"]


def test_symbolic_links_are_left_out(tree):
    root = tree("d/a.csv", "e/b.csv")
    (root / "d/link.csv").symlink_to(root / "e/b.csv")
    (root / "d/below").symlink_to(root / "e")
    assert names(root, "d/") == names(root, "d/**") == names(root, "d/*") == ["d/a.csv"]
    assert names(root, "d/*/b.csv") == []


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("{date}.csv", [("2024-01-31.csv", "2024-01-31")]),
        ("o-{date:%Y%m%d}-*.csv", [("o-20240131-1.csv", "2024-01-31"), ("o-20240131-2.csv", "2024-01-31")]),
        ("{date:%Y/%m/%d}", [("2024/01/31/a", "2024-01-31"), ("2024/01/31/b/c", "2024-01-31")]),
        ("year={date:%Y}/month={date:%m}/{date:%d}.csv", [("year=2024/month=02/29.csv", "2024-02-29")]),
        ("{date:%Y}/{date:%Y-%m-%d}.csv", [("2024/2024-01-05.csv", "2024-01-05")]),
        ("{month}/*", [("2024-01/a", "2024-01")]),
        ("w{week}.csv", [("w2024-01-28.csv", "2024-01-28")]),
        ("h{hour}.csv", [("h2024-01-31-05.csv", "2024-01-31-05:00")]),
        ("h/{hour:%Y%m%dT%H}.csv", [("h/20240131T05.csv", "2024-01-31-05:00")]),
        ("region={region}/{region}.csv", [("region=eu/eu.csv", "eu")]),
        ("j{date:%Y%j}", [("j2024060", "2024-02-29")]),
    ],
)
def test_places_give_partitions(tree, pattern, files):
    root = tree(
        *(name for name, _ in files),
        "9999-99-99.csv", "2024-1-31.csv", "year=2024/month=02/30.csv", "2024/2023-01-05.csv", "region=eu/us.csv",
        "h2024-01-31-24.csv", "j2023366", "o-20240132-1.csv", "2024/13/31/x",
    )  # fmt: skip
    assert names(root, pattern) == files
    keys = {key for _, key in files}
    found = partition_files(f"{root}/{pattern}", keys, {})
    assert found == list_files(f"{root}/{pattern}", {})


def test_partition_files_list_only_what_they_need(tree, monkeypatch):
    root = tree("2024/01/01/a", "2024/01/02/b", "2024/02/01/c")
    listed = []
    kind = type(open_storage(str(root))[0])
    walk, list_ = kind.walk, kind.list
    monkeypatch.setattr(kind, "walk", lambda self, at: listed.append(at) or walk(self, at))
    monkeypatch.setattr(kind, "list", lambda self, at: listed.append(at) or list_(self, at))
    found = partition_files(f"{root}/{{date:%Y/%m/%d}}/", ["2024-01-02", "2024-03-01"], {})
    assert [file.path for file in found] == [f"{root}/2024/01/02/b"]
    assert not [at for at in listed if at in (str(root), f"{root}/2024", f"{root}/2024/02")]


def test_a_week_begins_on_sunday(tree):
    root = tree("2024-01-28.csv")
    assert [file.partition for file in list_files(f"{root}/{{week}}.csv", {})] == ["2024-01-28"]
    with pytest.raises(PipelineError, match="is not the first day of a week"):
        partition_files(f"{root}/{{week}}.csv", ["2024-01-29"], {})
    tree("2024-01-29.csv")
    with pytest.raises(PipelineError, match="2024-01-29 is not the first day of a week; the first day is 2024-01-28"):
        list_files(f"{root}/{{week}}.csv", {})


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/a/{date", "a brace is not closed at '{date'"),
        ("/a/date}", "a brace is not opened at '}'"),
        ("/a/{day:%Y}", "{day:%Y} is not a placeholder"),
        ("/a/{}", "{} is not a placeholder"),
        ("/a/{date:%Y-%q-%d}", "'%q' in {date:%Y-%q-%d} is not supported"),
        ("/a/{date:%m-%d}", "do not give the year"),
        ("/a/{month:%Y}", "do not give the month"),
        ("/a/{hour:%Y-%m-%d}", "do not give the hour"),
        ("/a/{date:%Y-%m-%d-%H}", "%H belongs to {hour}"),
        ("/a/{date:%Y%j}/{date:%m-%d}", "in two ways"),
        ("/a/{date}/{region}", "the placeholders date, region cannot be combined"),
        ("/a/x**/b", "'**' must be a whole component"),
        ("/a/*/../b.csv", "must not contain '..' after a wildcard"),
        ("/a/{date}/../b.csv", "must not contain '..' after a wildcard or a place"),
        ("s3://bucket/a/../b", "must not contain the components '.' or '..'"),
        ("", "must not be empty"),
        ("/", "names no file or directory"),
        ("s3://b*/x", "the bucket 'b*' must be plain text"),
        ("ftp://host/x", "scheme 'ftp' is not supported"),
    ],
)
def test_wrong_patterns(pattern, text):
    with pytest.raises(PipelineError) as error:
        list_files(pattern, {})
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "key", "text"),
    [
        ("/a/b.csv", "x", "has no placeholder for the partition 'x'"),
        ("/a/{date}", "2024-02-30", "must have the form %Y-%m-%d"),
        ("/a/{region}", "../x", "cannot be part of a file name"),
        ("/a/{region}/b.csv", "..", "cannot be part of a file name"),
        ("/a/{region}/b.csv", ".", "cannot be part of a file name"),
        ("/a/{region}", ".x", "cannot be part of a file name"),
        ("/a/{region}", "_x", "cannot be part of a file name"),
        ("/a/{region}", "x\0y", "cannot be part of a file name"),
        ("/a/{region}", "", "cannot be part of a file name"),
    ],
)
def test_wrong_partitions(pattern, key, text):
    with pytest.raises(PipelineError, match=text):
        partition_files(pattern, [key], {})


def test_the_version_changes_with_the_content(tree):
    root = tree("a.csv")
    os.utime(root / "a.csv", ns=(0, 5_000_000))
    (first,) = list_files(f"{root}/a.csv", {})
    os.utime(root / "a.csv", ns=(0, 6_000_000))
    (second,) = list_files(f"{root}/a.csv", {})
    assert (first.version, second.version, first.size) == ("1-5", "1-6", 1)


def test_relative_paths(tree, monkeypatch):
    root = tree("d{x}/a.csv")
    monkeypatch.chdir(root / "d{x}")
    assert (
        [f.path for f in list_files("./*.csv", {})]
        == [f.path for f in list_files("a.csv", {})]
        == [f"{root}/d{{x}}/a.csv"]
    )


def test_memory():
    storage, root = open_storage("memory://listing/in")
    storage.write(f"{root}/2024-01-01/a.csv", b"abc")
    (file,) = list_files("memory://listing/in/{date}/", {})
    assert (file.path, file.size, file.partition) == ("memory://listing/in/2024-01-01/a.csv", 3, "2024-01-01")


def test_s3(s3):
    storage, root = open_storage(s3.url, s3.options)
    for name in ("2024-01-01/a.csv", "2024-01-02/b.csv", "2024-01-02/_SUCCESS", "x/c.csv"):
        storage.write(f"{root}/in/{name}", b"abc")
    found = list_files(f"{s3.url}/in/{{date}}/*.csv", s3.options)
    assert [(file.path, file.size, file.partition) for file in found] == [
        (f"{root}/in/2024-01-01/a.csv", 3, "2024-01-01"),
        (f"{root}/in/2024-01-02/b.csv", 3, "2024-01-02"),
    ]
    assert partition_files(f"{s3.url}/in/{{date}}/*.csv", ["2024-01-02"], s3.options) == found[1:]


def test_dots_in_a_path_are_those_of_the_system(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.csv").write_text("x")
    for path in (f"{tmp_path}/a/../b.csv", f"{tmp_path}/./a/.././*.csv", f"file://{tmp_path}/a/../b.csv"):
        (found,) = list_files(path, {})
        assert found.path.endswith(f"{tmp_path.name}/b.csv")
