"""Seeds: the word pairs from which EM starts."""
