"""Writes what is watched: recording rules and dashboards, from the tables beside this file."""
