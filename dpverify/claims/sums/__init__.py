"""The twins of the protocols for sums of vectors."""
