"""The numbers of papers beside those of the same kernels, where bert-base-uncased can be had, and relations beside code of their own."""
