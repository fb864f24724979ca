"""Records of what gpustack changed, and the decisions that follow from them."""
