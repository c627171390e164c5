"""Bodies of the experiments API, by shape; what they mean is checked where they are resolved."""
