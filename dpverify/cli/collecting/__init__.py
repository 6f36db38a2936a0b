"""Commands about collections that run: aggregate."""
