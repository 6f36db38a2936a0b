"""Does a mechanism without a law keep its claim? Events learned from outputs on two inputs."""
