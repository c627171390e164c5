"""One process imports everything and loads the models; web, workers and clock are forks that share its memory."""
