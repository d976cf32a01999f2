"""Creates, renames, deletes and expires tags, by request and automatically (format 15.1, 16.4).

`automatic` decides when an automatic tag is due, and names the tags of batch writes;
`metadata.automatic_tag_names` names those
of periods. `names` checks the names that users choose.
"""
