"""What do several twins share? Pairs, noise, buckets, estimators and their limits."""
