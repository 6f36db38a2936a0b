"""The closed forms of each protocol."""
