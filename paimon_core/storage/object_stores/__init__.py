"""Object stores: Amazon S3, Google Cloud Storage and Azure behind one interface.

Core types:

- ``ObjectStore``: the requests of one bucket
- ``ObjectStorage``: the ``Storage`` of a warehouse in an object store
- ``Failure``: a failed request: its meaning for the caller, and its HTTP status
- ``Upload``: a file that is uploaded in parts
"""
