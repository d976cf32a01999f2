"""The parts of a wide table: ``load_parts`` loads them at the same time, ``part_states`` tells when each was loaded."""
