"""Which sum along a contour shows what a joint change reveals? Lines, cells and sizes for a certificate of that."""
