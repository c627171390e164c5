"""What judges are asked, by kind: claims, requirements, relevance, criteria in plain words, graders, personal data."""
