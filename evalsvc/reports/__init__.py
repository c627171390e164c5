"""Reports and bundles: an experiment as one page, and as one file."""
