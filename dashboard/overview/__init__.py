"""Page Overview: what the heads of a model do on a corpus, in sentences and examples computed from the store."""
