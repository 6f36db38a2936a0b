"""From a budget to parameters, and from parameters to what they give."""
