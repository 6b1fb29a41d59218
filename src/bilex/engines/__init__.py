"""Where the top-k searches run: one small contract, one file per engine."""
