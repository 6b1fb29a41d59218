"""Word vectors: what they are, and every format they are read from and written to."""
