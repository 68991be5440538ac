"""Families of models: what a config.json, a file of weights and the modules of transformers are called in each. Nothing else names them."""
