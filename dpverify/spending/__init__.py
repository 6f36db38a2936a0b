"""What a collection has spent of its privacy budget: kept on disk, and refused where it would be exceeded."""
