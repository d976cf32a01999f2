"""Groups: several tables that publish one version together.

Import `Group`.
"""
