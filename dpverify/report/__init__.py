"""Results as text and plots; computes nothing."""
