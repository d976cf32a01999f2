"""Sources of tables: files, queries over tables of the lake, functions of the user.

Each reads rows and knows nothing of loads; ``pipelines.load`` decides what is read and commits it.
"""
