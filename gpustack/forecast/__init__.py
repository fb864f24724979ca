"""Forecast of the day on which a pool of GPUs is full: demand, models of it, and paths of the future. It needs no
library beside Python's."""
