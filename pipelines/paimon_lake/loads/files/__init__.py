"""Loads of files: which files a load reads, and what its tasks report about them."""
