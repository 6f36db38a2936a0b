"""What is audited, by which datasets and laws? One module per kind of subject."""
