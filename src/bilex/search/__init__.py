"""Exact search over all pairs of words: engines, their kernels, and the shared space."""
