"""Array types, row algebra and threads, shared by all the maths."""
