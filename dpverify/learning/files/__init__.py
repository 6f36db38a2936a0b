"""How do points and sums get in and out? Files, parts of the users, models."""
