"""Building blocks of pages: controls, charts, tables, amounts in words."""
