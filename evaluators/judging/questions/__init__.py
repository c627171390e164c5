"""Judge questions by kind: claims, requirements, relevance, criteria in plain words, graders, and personal data."""
