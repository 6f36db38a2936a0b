"""What do users learn from one vector each? Labels, class means and second moments, under one budget."""
