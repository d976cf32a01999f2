"""Checks of files: data files with their rows, statistics, indexes and keys."""
