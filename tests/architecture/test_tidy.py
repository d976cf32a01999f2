"""The style that a linter does not know, executed: sizes, dead modules, leftovers. The lists only get shorter."""

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "paimon_core": ROOT / "paimon_core",
    "paimon_lake": ROOT / "pipelines" / "paimon_lake",
    "paimon_dagster": ROOT / "assets" / "paimon_dagster",
}
PACKAGES = (*FOLDERS, "assets")
SOURCES = sorted({path for folder in ("paimon_core", "pipelines", "assets") for path in (ROOT / folder).rglob("*.py")})
OURS = sorted([*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])

MODULE_LINES = 400
FUNCTION_LINES = 60
LONG_FUNCTIONS: dict[str, int] = {}  # "module:function" -> lines it has today; never raise a number

# What dg.toml and workspace.yaml name; scripts are known by their last lines.
ENTRY_POINTS = {"assets.definitions", "paimon_dagster.definitions", "paimon_dagster.event_storage"}
PUBLIC_LISTS = {
    "paimon_core.arrow",
    "paimon_core.options",
    "paimon_core",
    "paimon_core.alter",
    "paimon_core.predicate",
    "paimon_core.types",
    "paimon_core.spark",
    "paimon_dagster",
    "paimon_lake.checks",
    "paimon_lake.declarations",
    "paimon_lake.sources.files",
    "assets",
}


def name_of(path: Path) -> str:
    base = next((f.parent for name, f in FOLDERS.items() if path.is_relative_to(f)), ROOT)
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass
class Facts:
    """What the tests ask about a module; the parsed tree is not kept, because garbage collection is slow with it."""

    functions: dict[str, int] = field(default_factory=dict)
    """The length of each function, its decorators left out."""
    imports: set[str] = field(default_factory=set)
    """Every dotted name that an import statement of the module could mean."""
    prints: list[str] = field(default_factory=list)
    docstring: str | None = None
    statements: int = 0


@cache
def facts_of(path: Path) -> Facts:
    tree = ast.parse(path.read_text())
    facts = Facts(docstring=ast.get_docstring(tree), statements=len(tree.body))
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                facts.functions[f"{name_of(path)}:{node.name}"] = (node.end_lineno or node.lineno) - node.lineno + 1
            case ast.Import():
                facts.imports |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                facts.imports |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.Call(func=ast.Name(id="print")):
                facts.prints.append(f"{name_of(path)}:{node.lineno}")
    return facts


def test_no_module_is_too_long():
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_no_function_is_too_long_and_the_ratchet_holds():
    lengths: dict[str, int] = {}
    for path in SOURCES:
        lengths |= facts_of(path).functions
    long = {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES}
    assert long == LONG_FUNCTIONS


def test_every_module_is_used():
    imported = set().union(*(facts_of(path).imports for path in SOURCES))
    modules = {name_of(path) for path in SOURCES if path.name not in ("__init__.py", "__main__.py")}
    scripts = {name_of(path) for path in SOURCES if 'if __name__ == "__main__":' in path.read_text()}
    assert modules - imported - scripts - ENTRY_POINTS == set()


def test_package_files_say_what_is_inside_and_hold_no_code_but_the_public_lists():
    packages = {name_of(path): facts_of(path) for path in SOURCES if path.name == "__init__.py"}
    assert [name for name, facts in packages.items() if not facts.docstring] == []
    assert {name for name, facts in packages.items() if facts.statements > 1} <= PUBLIC_LISTS


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_says_what_it_is(package):
    silent = [
        name_of(path)
        for path in SOURCES
        if name_of(path).startswith(package) and path.name != "__init__.py" and not facts_of(path).docstring
    ]
    assert silent == []


def test_the_core_prints_nothing():
    printing = [
        place
        for path in SOURCES
        if name_of(path).startswith("paimon_core.") and name_of(path) != "paimon_core.cli"
        for place in facts_of(path).prints
    ]
    assert printing == []


LEFTOVERS = {
    "a note to self": re.compile(r"#\s*(TODO|FIXME|XXX|HACK)\b"),
    "a breakpoint": re.compile(r"\bbreakpoint\(\)|\bimport pdb\b"),
    "a path of one machine": re.compile(r"[\"'](/(home|root|Users|work)/)"),
}


@pytest.mark.parametrize("what", LEFTOVERS)
def test_nothing_is_left_behind(what):
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in OURS
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if LEFTOVERS[what].search(line)
    ]
    assert found == []
