"""Counterparts of the sources' experiments: as published, with exact accounting, and with joint changes."""
