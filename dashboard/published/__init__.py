"""A store as a folder of files, which any web server shows: no Python, and no server of ours."""
