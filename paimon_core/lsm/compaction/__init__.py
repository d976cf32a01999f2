"""Compaction planning: chooses the sorted runs of a bucket to compact, and the files to rewrite (format 8.2 to 8.5).

`strategy` decides whether a compaction is due, by the rules in `universal` and `schedule`.

Core types and functions:

- ``CompactionUnit``: the runs to compact and the output level
- ``UniversalCompaction``: the rule of universal compaction
- ``Strategy``: decides whether a compaction is due
- ``Rewrite``: sections to merge into new files; ``Upgrade``: a file that only changes its level
- ``plan_rewrite``: divides a unit into rewrites and upgrades
"""
