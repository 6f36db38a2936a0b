"""How are the classes of both packages made? Quickly: what is never used is never compiled."""
