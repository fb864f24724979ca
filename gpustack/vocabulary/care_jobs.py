"""The names of the daily diagnostic's CronJobs and Jobs: this prefix, and the node's. Rules and receivers read them."""

PREFIX = "gpu-care-"
