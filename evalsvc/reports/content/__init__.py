"""The content of a report as data; every number is the one that the API returns."""
