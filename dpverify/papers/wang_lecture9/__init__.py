"""What wang_lecture9 and those it cites say, and what was found about it; nothing is computed here."""
