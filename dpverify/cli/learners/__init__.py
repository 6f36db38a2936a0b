"""Commands that learn from data."""
