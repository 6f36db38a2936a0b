"""Commands that show: report, serve, demo."""
