"""Import commands: data of other services and their export files, as evaluations, datasets and labels."""
