"""What is served on this machine: an interactive planner, a page for designs and days, and what takes uploads."""
