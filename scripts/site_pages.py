"""The pages of the site that are no files of docs/: MkDocs calls the functions on_... during `make docs` (mkdocs.yml).

The pages of the Python interface show the docstrings, the pages of the commands the arguments of their parsers, and the
pages of the project its files CONTRIBUTING.md, SECURITY.md and CHANGELOG.md with links that fit the site.
"""

from __future__ import annotations

import argparse
import html
import importlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LOCATION = "location of the tables"
"""The group of arguments that most commands have; their page explains it once."""
HEAD = ("| argument | meaning | default |", "| --- | --- | --- |")
DETAILS = ("site/", "decisions/", "format.md", "glossary.md", "fsck.md")
"""How the addresses of pages begin that the search lists after the others."""
PROJECT = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
EVERY_PAGE = "/*"
"""The end of a navigation entry that stands for all pages of a folder."""
_BAR_IN_CODE = re.compile(r"(?<!`)`([^`\n]*\\\|[^`\n]*)`(?!`)")
_PART_OF_CONTENTS = re.compile(r'(<nav class="md-nav" aria-label="[^"]*)"')
BY_PAGE: dict[str, tuple[str, tuple[str, ...]]] = {
    "catalogs": (
        "Catalogs",
        (
            "paimon_core:open_catalog",
            "paimon_core:Catalog",
            "paimon_core:FilesystemCatalog",
            "paimon_core:Identifier",
            "paimon_core:Group",
            "paimon_core:GroupVersion",
        ),
    ),
    "tables": (
        "Tables",
        (
            "paimon_core:Table",
            "paimon_core:TableView",
            "paimon_core:Insert",
            "paimon_core:Update",
            "paimon_core:Delete",
            "paimon_core:target",
            "paimon_core.table.refs.tags:Tags",
            "paimon_core:Tag",
            "paimon_core.table.refs.branches:Branches",
        ),
    ),
    "reads": (
        "Reads",
        (
            "paimon_core:Scan",
            "paimon_core:Split",
            "paimon_core:col",
            "paimon_core:Predicate",
            "paimon_core.table.inspect:Inspect",
            "paimon_core.table.system.system_table:SystemTable",
        ),
    ),
    "changes": (
        "Changes and streams",
        (
            "paimon_core.table.changes.changes:Changes",
            "paimon_core.table.changes.diff:Diff",
            "paimon_core.table.changes.diff:DiffSummary",
            "paimon_core.table.stream.table_stream:TableStream",
            "paimon_core.table.stream.table_stream:Batch",
            "paimon_core.table.stream.table_stream:Until",
        ),
    ),
    "commits": (
        "Commits and writers",
        (
            "paimon_core:TableWriter",
            "paimon_core:CommitMessage",
            "paimon_core:Prepared",
            "paimon_core:Snapshot",
            "paimon_core:CommitKind",
        ),
    ),
    "upkeep": (
        "Upkeep",
        (
            "paimon_core.table.upkeep.maintenance:Maintenance",
            "paimon_core:Plan",
            "paimon_core:CompactReport",
            "paimon_core:ExpireReport",
            "paimon_core:Statistics",
            "paimon_core:ColumnStatistics",
            "paimon_core:progress",
            "paimon_core:Progress",
        ),
    ),
    "schemas": (
        "Schemas and types",
        ("paimon_core:TableSchema", "paimon_core:DataField", "paimon_core:DataType", "paimon_core:Variant"),
    ),
    "spark": ("Spark", ()),
    "errors": ("Errors", ()),
}
"""The title of each page of the Python interface, and its objects; Spark and errors have all public names."""


def interface_pages() -> dict[str, str]:
    """Return the pages of the Python interface by address: directives that mkdocstrings fills from docstrings."""
    pages = {}
    for name, (title, objects) in BY_PAGE.items():
        module = {"spark": "paimon_core.spark", "errors": "paimon_core.errors"}.get(name)
        if module is not None:
            objects = tuple(f"{module}:{one}" for one in importlib.import_module(module).__all__)
        blocks = [f"::: {place_of(one)}" for one in objects]
        pages[f"site/api/{name}.md"] = "\n\n".join([f"# {title} in Python", *blocks]) + "\n"
    return pages


def place_of(name: str) -> str:
    """Return where the object of ``module:name`` is defined, as a name with dots."""
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return f"{getattr(found, '__module__', None) or module}.{getattr(found, '__qualname__', None) or attribute}"


def command_pages() -> dict[str, str]:
    """Return the pages of the two commands by address, made from their parsers."""
    core = importlib.import_module("paimon_core.cli.commands").parser()
    lake = importlib.import_module("paimon_lake.cli.main")._parser()
    return {f"site/commands/{one.prog}.md": command_page(one) for one in (core, lake)}


def command_page(parser: argparse.ArgumentParser) -> str:
    """Return the page of one parser: a section for each command, with its usage and arguments."""
    lines = [f"# `{parser.prog}`", "", text_of(parser.description), ""]
    lines += ["This page is made from the parser of the command line: `--help` prints the same.", ""]
    shared: dict[str, str] = {}
    for command, part in commands_of(parser):
        title = command.removeprefix(f"{parser.prog} ")
        lines += [f"## {title}", "", text_of(part.description), "", "```text", usage_of(part), "```", ""]
        of_location = {one for group in part._action_groups if group.title == LOCATION for one in group._group_actions}
        shared |= {row_of(action): "" for action in of_location}
        rows = [row_of(action) for action in part._actions if is_shown(action) and action not in of_location]
        if rows:
            lines += [*HEAD, *rows, ""]
    if shared:
        lines += ["## Location of the tables", "", "Arguments of most commands:", "", *HEAD, *sorted(shared), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each command that has arguments of its own, with its full name."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {one.dest: one.help for one in action._choices_actions}
        for name, part in action.choices.items():
            part.description = part.description or helps.get(name)
            if any(isinstance(one, argparse._SubParsersAction) for one in part._actions):
                yield from commands_of(part)
            else:
                yield part.prog, part


def usage_of(parser: argparse.ArgumentParser) -> str:
    """Return the usage of a command in lines of at most 80 characters, whatever the width of the terminal."""
    prog = parser.prog
    formatter = argparse.HelpFormatter(prog, width=80)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return formatter.format_help().strip()


def is_shown(action: argparse.Action) -> bool:
    """Whether the table of a command has a row for the action."""
    return action.help != argparse.SUPPRESS and not isinstance(
        action, argparse._HelpAction | argparse._SubParsersAction
    )


def row_of(action: argparse.Action) -> str:
    """Return the row of one argument."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices:
        metavar = "|".join(str(one) for one in action.choices)
    value = "" if action.nargs == 0 else f" {metavar}"
    name = ", ".join(f"`{one}{value}`" for one in action.option_strings) or f"`{metavar}`"
    meaning = text_of(action.help)
    has_default = action.default not in (None, False, argparse.SUPPRESS, [], ()) and action.option_strings
    default = f"`{action.default}`" if has_default and isinstance(action.default, str | int) else ""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (name, meaning, default)) + " |"


def text_of(text: str | None) -> str:
    """Return a help text as a sentence of Markdown."""
    words = (text or "").replace("%%", "%").replace("<", "&lt;").replace("*", "\\*").strip()
    return words[:1].upper() + words[1:] + ("" if not words or words[-1] in ".!?" else ".")


def project_pages() -> dict[str, str]:
    """Return the files of the project as pages of the site; links to other files than pages become plain text."""
    return {f"site/project/{name}": with_site_links((ROOT / name).read_text(), name) for name in PROJECT}


def with_site_links(text: str, source: str) -> str:
    """Return the text of a file with links that lead to the pages of the site; ``source``: its path in the project."""
    here = f"site/project/{source}" if source in PROJECT else posixpath.relpath(source, "docs")

    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if "://" in target or target.startswith("#"):
            return found[0]
        path, sharp, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if place.startswith("docs/") and (ROOT / place).is_file():
            wanted = posixpath.relpath(place, "docs")
        elif place in PROJECT:
            wanted = f"site/project/{place}"
        else:
            return words
        return f"[{words}]({posixpath.relpath(wanted, posixpath.dirname(here))}{sharp}{anchor})"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def generated_pages() -> dict[str, str]:
    """Return all pages of the site that are no files of docs/, by address."""
    return {**interface_pages(), **command_pages(), **project_pages()}


def expanded(nav: Any) -> Any:
    """Return the navigation with the pages of a folder in the place of its name and a star, in order of their names."""
    match nav:
        case str() if nav.endswith(EVERY_PAGE):
            folder = DOCS / nav.removesuffix(EVERY_PAGE)
            return [path.relative_to(DOCS).as_posix() for path in sorted(folder.glob("*.md"))]
        case dict():
            return {name: expanded(part) for name, part in nav.items()}
        case list():
            return [expanded(part) for part in nav]
    return nav


def on_config(config: Any) -> Any:
    """Name every decision in the navigation."""
    config["nav"] = expanded(config["nav"])
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for address, text in generated_pages().items():
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links to files outside of docs/ to their pages, and let the search list pages of details last."""
    source = page.file.src_uri
    if source.startswith(DETAILS):
        page.meta.setdefault("search", {})["boost"] = 0.2
    text = markdown if source.startswith("site/") else with_site_links(markdown, f"docs/{source}")
    return _BAR_IN_CODE.sub(code_with_bars, text)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Make the empty corner of a table a cell: an empty header says nothing to a screen reader."""
    return content.replace("<th></th>", "<td></td>")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Name the search for screen readers, and the parts of the contents otherwise than parts of the navigation."""
    return _PART_OF_CONTENTS.sub(r'\1, on this page"', with_named_search(output))


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Name the search of the page for addresses that do not exist."""
    return with_named_search(output_content)


def with_named_search(page: str) -> str:
    """Return a page whose search, which the theme makes a dialog without a name, has a name."""
    dialog = 'data-md-component="search" role="dialog"'
    return page.replace(dialog, f'{dialog} aria-label="Search"')


def code_with_bars(found: re.Match[str]) -> str:
    """Return code of a table's cell as HTML: Python-Markdown shows the backslash that GitHub needs before a bar."""
    text = html.escape(found[1].replace("\\|", "|"))
    return "<code>" + re.sub(r"[|\[\]*_]", lambda mark: f"&#{ord(mark[0])};", text) + "</code>"
