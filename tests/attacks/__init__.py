"""Files made to do harm: each is refused in one line, within a second and within 200 MB."""
