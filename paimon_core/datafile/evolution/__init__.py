"""Evolution: columns of older files in the types of the current schema, by field id (format 2.3, 2.4)."""
