"""Commands on tags and branches.

Core functions:

- ``add_tags``: adds the commands on tags to the parser
- ``add_branches``: adds the commands on branches to the parser
"""
