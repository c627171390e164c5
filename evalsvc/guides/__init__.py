"""The guides: the pages of `docs/` as pages of the service, and a search over them."""
