"""Streaming reads: ``TableStream`` and its position.

Core types:

- ``TableStream``: reads new snapshots as they appear
- ``Position``: where a stream continues
- ``Batch``: the rows of one snapshot or a part of it
- ``Until``: where a stream ends
"""
