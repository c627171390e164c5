"""Profiles: named settings of a family, their revisions, and a form that is made from the family's JSON Schema."""
