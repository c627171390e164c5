"""The HTTP routes of the Evals API of OpenAI."""
