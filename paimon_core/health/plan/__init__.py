"""Plan of maintenance: what work on a table is worth its cost, under a budget (decision 0067).

Everything is computed from metadata; only ``sampled`` reads data files, the first keys of buckets that were chosen.

Core types:

- ``Candidate``: one piece of work: what it saves, and its predicted bytes, seconds and memory
- ``Budget``: the bytes, seconds and memory that maintenance may use
- ``choose``: the candidates of many tables that are worth doing now, within one budget (decision 0068)
- ``Policy``: marks, waiting, back-off, off-peak hours and limits of tags
- ``History``: what earlier rounds left behind for one place
"""
