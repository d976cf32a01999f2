"""Checks of tables: the evaluation of the checks that a table's declaration names; only SQL needs Spark."""
