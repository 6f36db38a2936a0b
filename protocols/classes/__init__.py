"""What do both packages stand on? Classes that are quick to make, and a sentence for a package that is missing."""
