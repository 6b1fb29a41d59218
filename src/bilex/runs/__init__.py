"""A run: what was learnt, on disk and in memory."""
