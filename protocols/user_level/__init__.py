"""Learners that protect users with many examples each (ghazi2021): `UserLevelClassifier` in `classifier` runs them."""
