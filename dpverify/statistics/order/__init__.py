"""Do runs depend on one another, on their order or place? Exact levels."""
