"""Times: time formats of Java, times of partitions, time columns, names of automatic tags (format 15.4, 16.3).

Core types:

- ``JavaTimeFormat``: a pattern of Java's DateTimeFormatter
- ``PartitionTime``: the time that the values of a partition stand for
- ``Periods``: the periods of automatic tags, and their names
"""
