"""The twins of the protocols for sums of integers; docs/sums.md puts them together."""
