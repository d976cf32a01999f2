"""Page: the health of tables as one HTML file with pictures; it has no script and requests nothing (decision 0066).

All numbers come from ``Facts``, so from metadata only. Texts of the warehouse are escaped where markup is made, in
``markup`` and ``svg``; other modules pass plain text.

Core types:

- ``table_page``: the page of one table
- ``LakePage``: the page of many tables: an overview, and a section for each of the worst tables
- ``Drawing``: the marks of one picture, and its size
"""
