"""Results as text and plots; computes nothing.

What draws a result takes it alone, and for a figure the axes: on given ones, or on those of a figure of its own.
Results name it, see `dpverify.shown`.
"""
