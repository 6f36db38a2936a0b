"""What do two counts reveal that share a flood? Sums over values or parts of the noise, in cells of their plane."""
