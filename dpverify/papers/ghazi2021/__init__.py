"""What ghazi2021 says, and what was found about it; nothing is computed here."""
