"""Common basis of all topics of the dashboard: links, the cache, admission, errors, data routes, security, processes."""
