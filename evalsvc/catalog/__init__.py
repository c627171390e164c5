"""What an account can run: evaluators, profiles and their revisions."""
