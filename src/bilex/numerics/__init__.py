"""What all the maths shares: array types and threads."""
