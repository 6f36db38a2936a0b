"""A report as one page: HTML, style, script and figures in one file that needs nothing else."""
