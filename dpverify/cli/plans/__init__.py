"""Commands that choose: plan, least, budget, means, designs, densities, amplify, crowd."""
