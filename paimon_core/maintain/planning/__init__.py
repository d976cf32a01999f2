"""Plans: values that describe what a destructive operation will do, and the table state that they are valid for.

Core types:

- ``Plan``: the files that an operation will delete, and what is kept because something protects it
- ``PlannedFile``: a file that an operation will delete or move
- ``TableState``: the snapshots, tags and branches of a table when the plan was created
"""
