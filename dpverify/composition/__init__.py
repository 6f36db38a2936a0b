"""Composition theorems on (epsilon0, delta0), forwards and backwards."""
