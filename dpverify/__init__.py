"""Exact accounting, calibration and audits for shuffle-model differential-privacy protocols."""
