"""The explorer: a local page to search a run, browse its lexicon, review it and learn again."""
