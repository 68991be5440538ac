"""Fine-tunes a BERT to tell the labels of reviews: `headscape finetune`. Its result is a checkpoint like any other.

A part of the labelled reviews is held out and never trained on; transformers' Trainer does the training, which goes on
from its last checkpoint where it was killed.
"""
