"""What is true of `protocols.kde`: its error, and its privacy."""
