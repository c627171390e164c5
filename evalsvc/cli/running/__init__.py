"""`evalsvc run`: configs over a dataset, watched until they are done."""
