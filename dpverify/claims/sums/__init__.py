"""The twins of the protocols for sums: of integers (docs/sums.md) and of vectors (docs/real_moves.md)."""
