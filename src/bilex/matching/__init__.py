"""The E-step's matching problem and its exact solution."""
