"""What is claimed, and what is true, of each protocol: the twins of the modules in `protocols`."""
