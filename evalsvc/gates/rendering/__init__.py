"""A gate for people and for CI: Markdown, JUnit XML, and a page."""
