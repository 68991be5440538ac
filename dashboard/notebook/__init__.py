"""Pictures of the dashboard in a notebook: widgets on the same JavaScript modules, which no server has to serve."""
