"""A second opinion on single divergences: Arb balls and exact rationals, sharing no code with the engine."""
