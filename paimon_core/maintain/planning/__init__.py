"""Plans: values that describe the effect of a destructive operation, and the table state for which they are valid.

Core types:

- ``Plan``: the files that an operation will delete, and the objects that are kept because something protects them
- ``PlannedFile``: a file that an operation will delete or move
- ``TableState``: the snapshots, tags and branches of a table when the plan was created
"""
