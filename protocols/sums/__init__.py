"""Sums of more than bits: of vectors of bounded norm."""
