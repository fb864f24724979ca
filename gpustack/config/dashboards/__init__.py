"""The operator's own dashboards: which files the spec names, and what is in them."""
