"""The twins of the mechanisms that users run by themselves."""
