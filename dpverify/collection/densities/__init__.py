"""Densities of points: their bits, by integers alone, and what sums of these say."""
