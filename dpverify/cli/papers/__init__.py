"""Commands about what the documents say."""
