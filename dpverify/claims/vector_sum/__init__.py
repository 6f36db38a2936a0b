"""What is true of `protocols.vector_sum`: its privacy, its error, and what its source claims."""
