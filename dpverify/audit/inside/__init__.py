"""What does a target draw, and is it what must hide the input? Draws recorded, and replayed on the neighbour."""
