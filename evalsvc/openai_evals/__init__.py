"""The Evals API of OpenAI, for its unmodified clients: evals, runs and files."""
