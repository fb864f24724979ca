"""The commands directly under `gpustack`. gpustack/cli/app.py imports each module of this folder."""
