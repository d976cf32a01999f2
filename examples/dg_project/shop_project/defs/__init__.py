"""The assets of the project, and the lake as a component."""
