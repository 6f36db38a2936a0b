"""Exact privacy accounting on laws over the integers: laws, pairs, discretisation, composition and certification."""
