"""GPUs of a cluster as any Prometheus knows them: their list, their activity and their health."""
