"""Factories: the assets, jobs, schedules and checks of the declared tables."""
