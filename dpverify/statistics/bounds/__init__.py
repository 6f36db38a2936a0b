"""How sure is a rate, a loss or a trade-off? Confidence limits, and bets that may stop at any time."""
