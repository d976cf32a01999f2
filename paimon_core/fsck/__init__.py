"""fsck: checks the invariants of a table and reports findings; it writes nothing.

Import `check`. The module `invariants` lists the rules; the other modules check them.
"""
