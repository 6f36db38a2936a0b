"""Which protocol and which noise for a sum of integers or of vectors: little error, or few messages."""
