"""Operations on nodes: drain, uncordon and reboot, with what gpustack recorded on them."""
