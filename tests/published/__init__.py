"""Numbers of papers beside those of the kernels, where bert-base-uncased can be had, and relations beside a second implementation."""
