"""What is served on this machine: the interactive planner, a page with the engine's curves, and what takes uploads."""
