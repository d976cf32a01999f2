"""The LSM tree of one bucket: sorted runs, merging by windows of keys, the write buffer (format 8).

Pure: no module here reads or writes storage.
"""
