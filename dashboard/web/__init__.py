"""What every topic of the dashboard stands on: links and what they mean, the cache, who is let in, errors, HTTP."""
