"""Rows of public datasets and of other tools' files, in their published shapes: each becomes a row of an example."""
