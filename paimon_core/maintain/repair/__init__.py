"""Repairs hint files and removes manifest entries whose data files are missing."""
