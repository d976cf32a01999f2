"""Plans: values that describe what a destructive operation will do, and the table state that they are valid for."""
