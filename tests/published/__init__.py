"""The numbers of two papers beside those of the same kernels, where bert-base-uncased can be had."""
