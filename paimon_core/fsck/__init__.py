"""fsck: checks the invariants of a table and reports findings; it writes nothing.

Import `check`; `invariants` lists the rules, and each other module checks some of them.
"""
