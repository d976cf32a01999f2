"""Every option of Paimon 1.4 to 2.1, one module per subject.

Core types:

- ``Option``: one option; each module lists the options of its subject as ``OPTIONS``
"""
