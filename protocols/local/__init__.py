"""Mechanisms that need no trusted party at all: each user's own report is private."""
