"""Rejected rows: the tables ``<table>__rejects`` and their columns.

Core types and functions:

- ``Stamp``: the load that rejects rows
- ``RejectPartitions``: the names of the partitions of rejected rows
- ``publish_rejects``: commits the rejects of a load after the load

The tasks of ``loads.write_tasks`` write the rejected rows into files; ``publish_rejects`` commits these files.
"""
