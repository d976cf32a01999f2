"""LSM tree: sorted runs, merging by key windows and the write buffer of one bucket (format 8).

No module here reads or writes storage.
"""
