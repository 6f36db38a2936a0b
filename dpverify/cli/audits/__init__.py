"""Commands that test a running implementation."""
