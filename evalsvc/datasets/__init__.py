"""Lists of examples, frozen by version; their importers and downloads."""
