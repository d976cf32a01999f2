import pytest

from paimon_core.codec.binary_row.murmur import murmur3
from paimon_core.datafile.writing.external_places import ExternalPlaces
from paimon_core.errors import InvalidRequest
from paimon_core.options import TableOptions
from paimon_core.storage.external_roots import ExternalRoots

ROOTS = ExternalRoots(("/r",), "file")
JAVA_NAME = "data-8101e187-bc56-4a2a-a609-564be6d48079-0.parquet"


def places(strategy, paths="file:///r/a, file:/r/b/", roots=ROOTS, **others):
    given = {"strategy": strategy} | {key.replace("_", "-"): value for key, value in others.items()}
    options = {f"data-file.external-paths.{key}": value for key, value in given.items()}
    return ExternalPlaces.of(TableOptions.parse({"data-file.external-paths": paths, **options}), roots)


def test_paths_are_taken_in_turn():
    found = places("round-robin")
    names = [found.next("p=1/bucket-0", f"f{n}") for n in range(4)]
    start = names[0]
    other = {"a": "b", "b": "a"}[start.split("/")[2]]
    assert names[1:] == [f"file:/r/{other}/p=1/bucket-0/f1", start[:-1] + "2", f"file:/r/{other}/p=1/bucket-0/f3"]


def test_entropy_is_javas():
    """Name and directories were written by Java Paimon 1.4.2."""
    found = places("entropy-inject", "file:///r/a")
    assert found.next("bucket-0", JAVA_NAME) == f"file:/r/a/bucket-0/0000/1111/0000/10000100/{JAVA_NAME}"
    assert [murmur3(text) for text in (b"", b"hello", b"hello, world")] == [0, 0x248BFA47, 0x149BBB7F]


def test_other_strategies_choose_among_the_paths():
    assert places("none") is None
    assert places("round-robin", "") is None
    only = places("specific-fs", "s3://x/y, file:///r/a", specific_fs="FILE")
    assert {only.next("b", "f") for _ in range(3)} == {"file:/r/a/b/f"}
    weighted = places("weight-robin", weights="1,3")
    assert {weighted.next("b", "f") for _ in range(99)} == {"file:/r/a/b/f", "file:/r/b/b/f"}
    assert places("weight-robin").weights == ()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"strategy": "round-robin", "roots": ExternalRoots()}, r"file:/r/a: the path must be .* they are \[\]"),
        ({"strategy": "round-robin", "paths": "file:///r/a, file:///rb"}, r"file:/rb: the path must be .* \[/r\]"),
        ({"strategy": "specific-fs"}, "needs data-file.external-paths.specific-fs"),
        ({"strategy": "specific-fs", "specific_fs": "oss"}, "has the scheme oss"),
        ({"strategy": "weight-robin", "weights": "1"}, "1 weights for 2 external paths"),
    ],
)
def test_paths_that_cannot_be_used_are_refused(options, problem):
    with pytest.raises(InvalidRequest, match=problem):
        places(**options)
