"""Algorithm 1: the E-steps, the loop, and what is decided on held-out pairs."""
