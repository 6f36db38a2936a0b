"""What does a change of bounded norm reveal? Rates of losses along a contour, the largest move, attained changes."""
