"""How does a plan become a collection? What clients are given, what they send, and how that is read."""
