"""Commands that say what something gives: account, days, spending, certify."""
