"""Processor seconds of Spark jobs, beside plain Parquet through Spark and this library alone (``make bench-spark``).

``lake`` has the rows and tables, ``session`` the Spark sessions. ``writes``, ``reads``, ``partitions``,
``row_changes``, ``first_write`` and ``cluster`` have the cases, and ``cases`` lists all of them. ``measuring`` runs
cases, ``results`` keeps the numbers, ``report`` makes the table and the picture. ``__main__`` reads the command line.
"""
