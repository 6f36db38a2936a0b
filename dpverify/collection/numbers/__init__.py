"""Numbers from one to another: what users hold in a rehearsal of their sums, with a bucket each or without."""
