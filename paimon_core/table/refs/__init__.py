"""References to snapshots: tags, branches and leases.

Core types:

- ``Tags``: creates, deletes and lists tags
- ``Branches``: creates, deletes and lists branches
- ``Lease``: protects a snapshot from expiry while it is read
- ``LeaseTag``: the tag of a lease
"""
