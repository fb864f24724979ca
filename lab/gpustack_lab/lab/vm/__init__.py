"""Lab hosts that are virtual machines of QEMU, each with a kernel, a cgroup tree and modules of its own."""
