"""The model of section 3 of the paper: parameters, maps, prior, weights."""
