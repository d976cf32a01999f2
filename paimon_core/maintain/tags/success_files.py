"""Success files of tags: files that option ``tag.create-success-file`` requests for other tools (format 15.1)."""

from __future__ import annotations

from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.success_file import write_success_file


def write_success_file_of_tag(context: TableContext, name: str) -> None:
    """Write the success file of a tag that was created; an existing file keeps its creation time."""
    if not context.options["tag.create-success-file"]:
        return
    write_success_file(context.storage, context.paths.tag_success(name), clock.now_millis())


def delete_success_file_of_tag(context: TableContext, name: str) -> None:
    """Delete the success file of a deleted tag."""
    if context.options["tag.create-success-file"]:
        context.storage.delete([context.paths.tag_success(name)])
