"""How is what was planned collected? Designs of many queries on the same users, for many days."""
