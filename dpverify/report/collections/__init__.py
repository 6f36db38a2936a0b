"""Tables and figures of collections: designs, and what batches say."""
