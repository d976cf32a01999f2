"""Stores: each module reads and writes one kind of metadata file of one table.

Core types:

- ``SnapshotStore``: snapshots and their hints
- ``SchemaStore``: schemas
- ``ManifestStore``: manifests and manifest lists
- ``LiveManifests``: the live files of a snapshot, one manifest at a time
- ``TagStore``: tags
- ``BranchStore``: branches
- ``ChangelogStore``: lasting changelogs
- ``ConsumerStore``: positions of consumers
- ``ManifestCache``: the manifests that were read last
"""
