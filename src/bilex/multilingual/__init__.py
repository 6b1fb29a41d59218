"""Several languages through a hub."""
