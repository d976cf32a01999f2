"""The mutants: one token each, and a draw that changes only where the sources change."""

import tomllib
from pathlib import Path

from tests.mutation.__main__ import EQUIVALENT, ROOT, drawn, equivalents
from tests.mutation.mutants import mutants_of

PATH = Path("paimon_core/lsm/x.py")
TEXT = '''
def f(a: int | None, b: int) -> bool:
    """Not a < b."""
    return a < b and not a == 7
'''


def changed(text):
    return [m.changed.removeprefix("return ") for m in mutants_of(PATH, text)]


def test_each_mutant_changes_one_token_and_no_annotation_or_text():
    assert changed(TEXT) == [
        "a <= b and not a == 7",
        "a >= b and not a == 7",
        "a < b or not a == 7",
        "a < b and  a == 7",
        "a < b and not a != 7",
        "a < b and not a == 8",
    ]


def test_a_draw_outlives_changes_of_other_lines():
    def draw(text):
        found = {"lsm": list(mutants_of(PATH, text)), **{p: [] for p in ("commit", "plan", "maintain", "codec")}}
        return [m.changed for m in drawn(found, 10, seed=1)]

    lines = "".join(f"c{n} = a{n} < b{n}\n" for n in range(20))
    assert len(draw(lines)) == 2
    assert draw("# a comment\n\n" + lines) == draw(lines)


def test_every_mutant_that_is_listed_as_equivalent_exists_once():
    listed = tomllib.loads(EQUIVALENT.read_text())["mutant"]
    paths = {entry["path"] for entry in listed}
    found = equivalents(m for path in paths for m in mutants_of(Path(path), (ROOT / path).read_text()))
    assert len(found) == len(listed)
    assert all(entry["reason"] for entry in listed)
