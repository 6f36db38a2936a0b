"""How far do malicious users get, and what do caps cost? Moves of an estimate, and messages that are cut."""
