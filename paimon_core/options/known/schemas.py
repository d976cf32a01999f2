"""The options for changes of the schema."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, Option, obeyed

OPTIONS: tuple[Option, ...] = (
    obeyed(
        "alter-column-null-to-not-null.disabled", BOOLEAN, "true", "refuse to make a column NOT NULL that allows null"
    ),
    obeyed("disable-explicit-type-casting", BOOLEAN, "false", "allow only changes of a type that lose nothing"),
    obeyed(
        "add-column-before-partition", BOOLEAN, "false", "a new column without a position goes before partition keys"
    ),
    obeyed("write.merge-schema", BOOLEAN, "false", "a write adds the columns of its data that the table lacks"),
    obeyed("write.merge-schema.type-widening", BOOLEAN, "false", "with write.merge-schema: a write also widens types"),
    obeyed(
        "write.merge-schema.explicit-cast",
        BOOLEAN,
        "false",
        "with write.merge-schema.type-widening: a write may also change types in ways that lose information",
    ),
)
