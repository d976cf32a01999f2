"""Streaming reads: ``TableStream`` and its position.

Core types:

- ``TableStream``: reads new snapshots as they appear
- ``Position``: the point in the history of the table at which a stream continues
- ``Batch``: the rows of one snapshot or a part of it
- ``Until``: the bounds at which a stream ends
"""
