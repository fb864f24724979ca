"""The commands `gpustack capacity`, which report and forecast the use of GPUs."""
