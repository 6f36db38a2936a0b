"""The twins of the user-level learners; docs/user_level.md puts them together."""
