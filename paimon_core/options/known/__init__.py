"""Every option of Paimon 1.4 to 2.1.

Core types and functions:

- ``Option``: one option; each module has a list ``OPTIONS`` of the options of its subject that this library obeys
- ``by_subject``: reads the options of other engines from ``other_engines.tsv``
"""
