"""What do the documents say, and what was found? Statements as data, one folder for each document."""
