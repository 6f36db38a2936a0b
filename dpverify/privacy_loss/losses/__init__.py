"""What does one pair of neighbouring views reveal? Privacy losses as listed, mixed, continuous or memoized laws."""
