"""Compaction planning: which sorted runs of a bucket to compact and which files to rewrite (format 8.2 to 8.5).

`strategy` decides whether a compaction is due, by the rules in `universal` and `schedule`.
"""
