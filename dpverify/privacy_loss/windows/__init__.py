"""What does a product of known losses reveal? Convolution on a grid, moments, and contours (Parseval, tilting)."""
