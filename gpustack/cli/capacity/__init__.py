"""`gpustack capacity`: how many GPUs there are, for whom, and what they do."""
