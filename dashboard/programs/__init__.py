"""What programs ask of a store."""
