"""Tags: runs the statements of tags with the methods of ``Table.tags``."""

from __future__ import annotations

from paimon_core.errors import PaimonError
from paimon_core.spark.sql.grammar.statements import ChangeTag
from paimon_core.spark.sql.names import Names, located


def change_tag(names: Names, statement: ChangeTag, text: str) -> str:
    """Create, replace, delete or rename tags; return a text that describes the result."""
    tags = names.table(statement.table, text).tags
    known = {tag.name for tag in tags.list()}
    name = statement.names[0]
    try:
        if statement.action == "delete":
            found = [one for one in statement.names if one in known or not statement.optional]
            for one in found:
                tags.read(one)  # all tags must exist before the first is deleted
            for one in found:
                tags.delete(one)
            return f"deleted tag {', '.join(found)}" if found else f"tag {', '.join(statement.names)} does not exist"
        if statement.action == "rename":
            tag = tags.rename(*statement.names)
        elif statement.optional and name in known:
            return f"tag {name} exists"
        elif statement.action == "replace" or (statement.action == "create or replace" and name in known):
            tag = tags.replace(name, statement.snapshot, keep_for=statement.keep_for)
        else:
            tag = tags.create(name, statement.snapshot, keep_for=statement.keep_for)
    except PaimonError as error:
        located(error, text, statement.table.end)
    return f"tag {tag.name} of snapshot {tag.snapshot.id}"
