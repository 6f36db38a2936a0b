"""What scott2022 says, and what was found about it; nothing is computed here."""
