"""Which features, range and bitsum estimate a density best? By the error of each."""
