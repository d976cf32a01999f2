"""Row changes: delete, update and merge.

Core types: ``Update``, ``Delete``, ``Insert``, the clauses of a merge.
"""
