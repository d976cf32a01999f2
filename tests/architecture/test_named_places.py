"""Places that documents and docstrings name exist, such as ``commit.base``; each room names its core types."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from paimon_core.options.registry import OPTIONS
from paimon_core.table.table import Table

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "paimon_core": ROOT / "paimon_core",
    "paimon_lake": ROOT / "pipelines" / "paimon_lake",
    "paimon_dagster": ROOT / "assets" / "paimon_dagster",
}
MODULES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))
DOCUMENTS = [ROOT / "docs" / "architecture.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
FEW_MODULES = 3
"""A room with at most as many modules needs no list of its types."""
ALLOWED = {"commit.user", "partitions.column", "paimon_core.__version__", "spark.sql.timeType.enabled"}
"""Names that begin like a room and are keys of declarations or options of Spark, or that ``__getattr__`` returns."""

_FENCED = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BARE = re.compile(r"(?<![\w/.-])([a-z_]+\.[a-z_]+)(?![\w/.-])")
_NAME = re.compile(r"(?<!`)`{1,2}([a-z_]+(?:\.[A-Za-z_]\w*)+)(?:\(\))?`{1,2}(?!`)")


@cache
def _names(path: Path) -> dict[str, set[str]]:
    """Return the names of a module: classes with their members, and other names without any."""
    names: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ClassDef(name=name, body=body):
                names[name] = {found for statement in body for found in _bound(statement)}
            case ast.FunctionDef(name=name):
                names.setdefault(name, set())
            case ast.Assign() | ast.AnnAssign() | ast.ImportFrom() | ast.Import():
                names |= {found: set() for found in _bound(node) if found not in names}
    return names


def _bound(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
    return []


def _exists(folder: Path, parts: list[str]) -> bool:
    """Whether the parts lead from a folder to a module, or on to a name of it or a member of its class."""
    head, *rest = parts
    if (folder / head).is_dir():
        inside = folder / head
        return not rest or _exists(inside, rest) or _in_module(inside / "__init__.py", rest)
    return (folder / f"{head}.py").is_file() and _in_module(folder / f"{head}.py", rest)


def _in_module(path: Path, parts: list[str]) -> bool:
    names = _names(path)
    match parts:
        case []:
            return True
        case [name]:
            return name in names
        case [name, member]:
            return member in names.get(name, set())
    return False


def _is_place(name: str, holder: Path) -> bool:
    """Whether a name with points, found in ``holder``, exists; names that begin with no room of ours are not places."""
    head, *rest = name.removesuffix(".py").split(".")
    if not rest or name in ALLOWED or name in OPTIONS:
        return True
    if head == "table" and hasattr(Table, rest[0]):
        return True
    if head in PACKAGES:
        return _exists(PACKAGES[head].parent, [head, *rest])
    folders = [folder for folder in PACKAGES.values() if (folder / head).is_dir() or (folder / f"{head}.py").is_file()]
    if holder.suffix == ".py":
        folders += [folder for folder in holder.parents if folder.is_relative_to(ROOT) and (folder / head).is_dir()]
    return not folders or any(_exists(folder, [head, *rest]) for folder in folders)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_places_that_documents_name_exist(path: Path) -> None:
    text = path.read_text()
    names = [*_NAME.findall(text), *(name for block in _FENCED.findall(text) for name in _BARE.findall(block))]
    assert [name for name in names if not _is_place(name, path)] == []


def test_places_that_module_docstrings_name_exist() -> None:
    wrong = {}
    for path in MODULES:
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        if names := [name for name in _NAME.findall(text) if not _is_place(name, path)]:
            wrong[str(path.relative_to(ROOT))] = names
    assert wrong == {}


def _rooms() -> list[Path]:
    return [
        path for path in MODULES if path.name == "__init__.py" and len(list(path.parent.glob("*.py"))) > FEW_MODULES
    ]


@pytest.mark.parametrize("path", _rooms(), ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_a_room_names_its_core_types(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert re.search(r"^Core (types|functions|types and functions):$", text, re.MULTILINE)
    there = {name for module in path.parent.rglob("*.py") for name in _names(module)}
    assert [name for name in re.findall(r"^- ``(\w+)``: ", text, re.MULTILINE) if name not in there] == []
