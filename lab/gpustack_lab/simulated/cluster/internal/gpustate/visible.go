package gpustate

import (
	"os"
	"path/filepath"
	"strconv"
)

// Present says whether the device node of this GPU is in the folder dev.
func (g GPU) Present(dev string) bool {
	_, err := os.Stat(filepath.Join(dev, "nvidia"+strconv.Itoa(g.Minor)))
	return err == nil
}

// Visible keeps the GPUs whose device node is there, as a driver does in a container. Where no GPU at all has one, all
// are kept: that is a build machine and not a container.
func Visible(gpus []GPU, dev string) []GPU {
	nodes, _ := filepath.Glob(filepath.Join(dev, "nvidia[0-9]*"))
	if len(nodes) == 0 {
		return gpus
	}
	var out []GPU
	for _, gpu := range gpus {
		if gpu.Present(dev) {
			out = append(out, gpu)
		}
	}
	return out
}
