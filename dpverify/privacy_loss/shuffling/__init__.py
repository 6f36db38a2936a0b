"""What does one report among many reveal? Blankets and clones, any number of rounds."""
