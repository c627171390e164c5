"""The image that runs everything, to try it out."""
