"""The inner loops, compiled by numba: arrays in, arrays out, no files and no messages."""
