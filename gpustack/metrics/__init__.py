"""DCGM's fields and the Xids of NVIDIA's driver: their names, units and labels."""
