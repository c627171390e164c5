"""The experiments routes: definitions, configs, the live view, results, and the caller's own code."""
