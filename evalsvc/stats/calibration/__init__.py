"""From labelled scores to thresholds and probabilities, and how good both are on other rows."""
