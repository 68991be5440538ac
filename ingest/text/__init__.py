"""Sentences and tokens of the data: reviews, their columns, the sentences of the corpus, wordpieces."""
