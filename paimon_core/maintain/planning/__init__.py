"""Plans: values that describe what a destructive operation will do, and the table state that they are valid for.

Core types:

- ``Plan``: the files that an operation will delete, and what protects the others
- ``PlannedFile``: one of the files
- ``TableState``: the snapshots, tags and branches of a table when the plan was created
"""
