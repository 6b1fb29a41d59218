"""The lexicon, its formats, and what a person decided about it."""
