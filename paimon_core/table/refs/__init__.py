"""References to snapshots: tags, branches and leases.

Core types: ``Tags``, ``Branches``, ``Leases``, ``Lease``.
"""
