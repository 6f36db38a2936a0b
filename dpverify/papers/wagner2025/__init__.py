"""What wagner2025 says, and what was found about it; nothing is computed here."""
