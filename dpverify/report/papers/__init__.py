"""Tables and figures of what the documents say."""
