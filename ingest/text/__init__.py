"""From the data to sentences and tokens: reviews, their columns, the sentences of the corpus, wordpieces."""
