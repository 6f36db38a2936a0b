"""Estimators that are asked for a budget and plan the rest: a private classifier, and a private density."""
