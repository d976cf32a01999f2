"""File indexes: the bytes of Paimon's indexes of one data file, and the rows that a filter can match (format 13).

The package works on bytes and columns only; ``datafile`` writes the indexes and ``scan`` and ``read`` use them.
"""
