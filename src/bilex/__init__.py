"""bilex: bilingual lexicons from monolingual word vectors and a tiny seed, by exact matching."""
