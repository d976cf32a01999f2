"""Procedures: ``CALL sys.name(...)`` with the names and arguments that Paimon has.

Core types and functions:

- ``PROCEDURES``: the table of procedures
- ``Procedure``: the arguments of one procedure, and its function
- ``Arguments``: the values of one CALL
- ``call``: runs a CALL
"""
