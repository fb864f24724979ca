"""The operator's own dashboards: their files, and the content of each."""
