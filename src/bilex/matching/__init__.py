"""The matching problem of the E-step and its exact solution."""
