"""The order in which pytest-xdist runs the files: long files and groups first, each JVM in one worker."""

from types import SimpleNamespace

from tests.support.longest_first import groups_of, longest_first, tier, unit_of


def test_units_are_ordered_by_the_seconds_of_their_files():
    units = {
        "tests/a.py": ["tests/a.py::t1", "tests/a.py::t2"],
        "spark": ["tests/s.py::t1", "tests/u.py::t1"],
        "tests/many.py": [f"tests/many.py::t{n}" for n in range(500)],
        "tests/half.py::t1": ["tests/half.py::t1"],
        "tests/half.py::t2": ["tests/half.py::t2"],
    }
    known = {"tests/a.py": 12, "tests/s.py": 9, "tests/u.py": 8, "tests/half.py": 20}
    assert longest_first(units, known) == [
        "spark", "tests/many.py", "tests/a.py", "tests/half.py::t1", "tests/half.py::t2",
    ]  # fmt: skip


def test_a_file_is_a_unit_unless_it_has_a_group_or_its_tests_are_split():
    groups = {"tests/spark/a.py": "spark"}
    assert unit_of("tests/a.py::t[1::2]", groups) == "tests/a.py"
    assert unit_of("tests/spark/a.py::t[1]", groups) == "spark"
    assert unit_of("tests/soak/test_soak.py::t[1]", groups) == "tests/soak/test_soak.py::t[1]"


def test_files_that_use_a_jvm_are_a_group():
    def item(nodeid, *fixtures):
        return SimpleNamespace(nodeid=nodeid, fixturenames=fixtures)

    items = [item("a.py::1", "oracle"), item("a.py::2"), item("b.py::1", "spark", "oracle"), item("c.py::1")]
    assert groups_of(items) == {"a.py": "java", "b.py": "spark"}


def test_long_tests_have_durations_of_their_own():
    assert (tier("long"), tier("not long"), tier("")) == ("long", "test", "test")
