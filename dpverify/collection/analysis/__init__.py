"""What does a batch say? Sums that merge, intervals by the exact law of the noise, alarms, and what is spent for it."""
