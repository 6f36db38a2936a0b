"""All that is known about one budget, gathered to be read as a whole: what a report shows."""
