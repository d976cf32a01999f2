"""The index of ``memory://`` in tests gives the answers of fsspec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import indexed_memory
from tests.support.examples import examples

NAMES = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))
STEPS = st.lists(st.tuples(st.sampled_from(["pipe_file", "makedirs", "rm_file", "rmdir", "rm"]), NAMES), max_size=20)


@settings(max_examples=examples(300))
@given(STEPS)
def test_the_index_answers_as_the_library_does(steps: list[tuple[str, str]]) -> None:
    indexed_memory.clear()
    fs = MemoryFileSystem()
    library_info, library_ls = indexed_memory.LIBRARY
    for name, path in steps:
        if name == "pipe_file" and fs.isdir(path):
            continue  # a disk refuses it; the library keeps a file and a directory of one name
        arguments = (b"x",) if name == "pipe_file" else (True,) if name in ("makedirs", "rm") else ()
        _outcome(getattr(fs, name), path, *arguments)
        for place in ("", *sorted({p[:n] for _, p in steps for n in range(2, len(p) + 1, 2)})):
            assert _outcome(fs.info, place) == _outcome(library_info, fs, place), (place, dict(fs.store))
            assert _sorted(_outcome(fs.ls, place)) == _sorted(_outcome(library_ls, fs, place))


def _outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except OSError as error:
        return type(error)


def _sorted(entries: Any) -> Any:
    return sorted(entries, key=lambda entry: entry["name"]) if isinstance(entries, list) else entries
