"""Plan of maintenance: what work on a table is worth its cost, under a budget (decision 0067).

Everything is computed from metadata: no data file is read.

Core types:

- ``Candidate``: one piece of work: what it saves, and its predicted bytes, seconds and memory
- ``Budget``: the bytes, seconds and memory that maintenance may use
"""
