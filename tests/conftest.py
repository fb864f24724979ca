"""Markers are in pyproject.toml. Tests marked `lab` are skipped, with the lab's own sentence, where it cannot run."""
