"""How does a plan become a collection? Designs of many queries, what clients are given and send, how that is read."""
