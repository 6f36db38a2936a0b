"""Measurements, side by side with peers; a package, for others install one of this name."""
