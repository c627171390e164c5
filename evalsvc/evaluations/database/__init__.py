"""How the tables of evaluations are reached: columns, locks, partitions, functions, ids."""
