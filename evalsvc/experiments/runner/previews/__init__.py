"""What an experiment would ask and cost, before anything runs."""
