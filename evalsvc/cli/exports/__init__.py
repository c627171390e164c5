"""Export commands: write the account's data to files."""
