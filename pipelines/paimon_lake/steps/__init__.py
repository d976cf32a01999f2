"""Steps on the tables of a lake: infer, apply, follow, load several, audit, maintain, examine.

``audits`` tell whether a table is correct, ``health`` what it costs, and ``upkeep`` compacts, tags and cleans up.

Core functions:

- ``apply``: creates and alters the declared tables
- ``compiled``: the whole definition that a declaration becomes
- ``changed``: the tables whose definitions differ from those of an earlier folder
- ``infer``: declares a table from files
- ``Follow``: loads and maintains the lake until it is stopped
- ``load_several``, ``load_group``: load several tables, and publish a group
"""
