"""Commands that choose: plan, least, budget, means, densities, amplify, crowd."""
