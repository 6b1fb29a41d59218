"""How probable it is that an entry is right, and what a run is worth."""
