"""The gallery of the documentation: twelve views of the default store as pictures, each with a sentence with figures of the store.

`make gallery` takes the pictures and writes `docs/gallery.md`; `python -m tests.gallery --check` compares both with another store.
"""
