"""Datasets: the list, versions and how they differ, uploads with a preview, edits, examples from captured traffic."""
