"""The playground: a sample, several evaluators side by side, and the threshold that labels support."""
