"""Sources of tables: files, queries over tables of the lake, functions of the user.

Each reads rows and knows nothing of loads; ``paimon_lake.loads`` decides what is read and commits it.
"""
