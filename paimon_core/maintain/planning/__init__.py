"""Plans: what a destructive operation will do, as a value, and the table state that it was made for."""
