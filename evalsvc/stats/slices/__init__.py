"""Parts of a set, knobs and repeats: estimates that hold together, and where the variance comes from."""
