"""What pages are put together from: controls, charts, tables, amounts in words."""
