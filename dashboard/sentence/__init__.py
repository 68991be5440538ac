"""One sentence: queries, keys and attention by the model, and the page that shows them."""
