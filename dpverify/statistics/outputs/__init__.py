"""Which events of an output are tried? Chosen ones, learned ones, aspects of its structure and of its lowest bits."""
