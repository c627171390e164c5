"""The only code that calls other people's servers: every address, URL, header, second and byte is checked."""
