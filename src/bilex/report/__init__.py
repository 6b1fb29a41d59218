"""The report: one HTML page that shows a run and its verdict (how a run is judged: `bilex.confidence.verdict`)."""
