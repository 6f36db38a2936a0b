"""Which scale and noise for sums of vectors? The least error for the messages, or the fewest messages for an error."""
