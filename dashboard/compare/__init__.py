"""Two models of a store on one corpus, side by side."""
