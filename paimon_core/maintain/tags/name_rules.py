"""Tag names: checks the name of a new tag; existing tags with any name can be read (format 15.1)."""

from __future__ import annotations

from paimon_core.errors import AlreadyExists, InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.times.automatic_tag_names import BY_PERIOD, Periods


def check_new_name(context: TableContext, name: str, snapshot: Snapshot, *, instead_of: str | None = None) -> None:
    """Check the name of a new tag of ``snapshot``.

    Raises InvalidRequest for a name that cannot be a file name or could be read as a snapshot id: a name of digits is
    allowed only when it is the name of an automatic tag of this table. Raises AlreadyExists for an automatic tag by
    period when the snapshot already has a tag of this kind, because Java fails when a snapshot has two such tags; the
    tag ``instead_of``, which the new tag replaces, is ignored.
    """
    context.paths.tag(name)
    periods = Periods.of(context.options) if context.options["tag.automatic-creation"] in BY_PERIOD else None
    automatic = periods is not None and periods.start(name) is not None
    if name.isdecimal() and not automatic:
        raise InvalidRequest(
            f"tag name {name!r} has digits only and would be taken for a snapshot id: add a letter", tag=name
        )
    if not automatic:
        return
    assert periods is not None
    for other in context.tags.list():
        if (
            other.name not in (name, instead_of)
            and other.snapshot.id == snapshot.id
            and periods.start(other.name) is not None
        ):
            raise AlreadyExists(
                f"table {context.name}: snapshot {snapshot.id} has the automatic tag {other.name!r} already, and "
                f"cannot get another one ({name!r})",
                tag=name,
                snapshot=snapshot.id,
            )
