"""Reports, bundles, and experiments that come in as bundles."""
