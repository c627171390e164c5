"""How far people agree, and what a drawn sample of items says of all."""
