"""What do noisy steps of a trusted curator give, each on a sample of the records, as in DP-SGD? And the least noise."""
