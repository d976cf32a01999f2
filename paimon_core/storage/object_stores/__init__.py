"""Object stores: Amazon S3, Google Cloud Storage and Azure behind one interface.

Core types: ``ObjectStore``, the requests of one bucket; ``ObjectStorage``, the ``Storage`` of a warehouse.
"""
