"""What does a step on a random sample of the records reveal? Noise on a line, at each sampling rate, composed."""
