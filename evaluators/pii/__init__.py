"""Finding personal data in text: shapes that a validator confirms."""
