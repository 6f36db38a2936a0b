"""Which sum along a contour shows what a protocol guarantees? Lines, cells and sizes for a certificate of that."""
