"""Which pairs dominate every dataset of flipped bits? Cells of hidden users, and chords between datasets."""
