"""Roles of heads on the pages: their shares, and the tab Role of page Head."""
