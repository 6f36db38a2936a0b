"""Exact laws on the integers, below both claims and audits."""
