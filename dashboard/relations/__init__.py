"""Page Relations: which head links the words of which grammatical relation."""
