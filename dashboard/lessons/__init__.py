"""Page Lessons: what to look at first, in links."""
