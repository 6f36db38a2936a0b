"""Statistical tests with exact levels and stated power; they know samples and laws only."""
