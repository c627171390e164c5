"""Two configs on the same examples: by how much one beats the other, and what that rests on."""
