"""The pages: each turns a place into what is drawn."""

from dashboard.pages import about, head, heads

PAGES = {"heads": heads.layout, "head": head.layout, "about": about.layout}
