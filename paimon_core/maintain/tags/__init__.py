"""Creates, renames, deletes and expires tags, by request and automatically (format 15.1, 16.4).

`automatic` decides when an automatic tag is due, and names the tags of batch writes;
`metadata.times.automatic_tag_names` names the tags of periods. `name_rules` checks the names that users choose.

Core types and functions:

- ``TagReport``: the tags and files that an expiry of tags deleted
- ``create_tag``: creates a tag
- ``delete_tag``: deletes a tag; ``plan_tag_deletion`` shows which files would be removed
- ``create_due_tags``: creates the automatic tags that are due
"""
