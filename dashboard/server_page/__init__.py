"""Page Server: the metrics of the server as charts, for authors."""
