"""gpustack: bare Linux hosts become a Kubernetes GPU cluster that is proven to work."""
