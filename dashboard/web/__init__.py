"""What every topic of the dashboard builds on: links, the cache, admission, errors, data routes, security, processes."""
