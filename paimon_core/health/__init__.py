"""Health of a table: how much more than needed its reads and its storage cost, why, and which command mends it.

Everything is computed from metadata: no data file is read (decision 0066).

Core types:

- ``Health``: the measures and findings of one version of a table, with a score
- ``Finding``: one thing that is wrong: measure, threshold, cost, command that mends it
- ``Thresholds``: the values from which on a measure is a finding
- ``Layout``: the live files of one version, summed by bucket
- ``Held``: the bytes of a table by what holds them: the latest version, snapshots, tags, branches
- ``Cost``: bytes and requests of a read
"""
