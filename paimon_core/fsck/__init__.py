"""fsck: checks the invariants of a table and reports findings; it writes nothing.

The module `check` is the entry. The module `invariants` lists the rules; the other modules check the rules.

Core types and functions:

- ``Report``: the findings of a check run, and the numbers of checked objects
- ``Finding``: a problem: its level, invariant, location and message
- ``Invariant``: a rule that every table keeps
- ``CheckRun``: the settings of a run, and the metadata that it has read
- ``CheckedFiles``: the live files of one snapshot, updated from snapshot to snapshot
- ``CheckedEntries``: manifest entries as columns, with hashes of their identities and records
- ``LiveParts``: the live files in parts
- ``KnownNames``: the names of all checked files, as hashes
- ``check``: checks a table
"""
