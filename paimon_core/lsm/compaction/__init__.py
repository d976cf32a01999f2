"""Which sorted runs of a bucket to compact, and which of their files to rewrite (format 8.2 to 8.4)."""
