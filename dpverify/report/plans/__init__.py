"""Tables and figures of plans, budgets and accounts."""
