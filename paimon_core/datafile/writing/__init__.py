"""Writing of data files: plans, layouts, statistics and the writer that starts the next file (format 7).

Core types: ``RollingWriter``, ``FilePlan``, ``FileLayout``.
"""
