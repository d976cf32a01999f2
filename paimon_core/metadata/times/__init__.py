"""Times: the clock, times of partitions and columns, names of automatic tags, travel to a time (format 15.4, 16.3)."""
