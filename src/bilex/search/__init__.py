"""Exact search over all pairs of words."""
