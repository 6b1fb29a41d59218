"""How good a run is: translation against a gold dictionary."""
