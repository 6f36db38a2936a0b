"""The twins of RAPPOR."""
