"""Vectors of norm at most 1: their integers after a public rotation, and what sums of these say."""
