"""Prompts that programs load by name: definitions, frozen revisions, and the labels that point at them."""
