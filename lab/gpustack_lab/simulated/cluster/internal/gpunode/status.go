package gpunode

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// Status serves what the marker files say, under the real node-status-exporter's names.
type Status struct {
	Folder string
}

func (s Status) ServeHTTP(answer http.ResponseWriter, _ *http.Request) {
	answer.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, component := range []string{"driver", "toolkit", "plugin", "cuda"} {
		name := "gpu_operator_node_" + component + "_ready"
		ready := 0
		if _, err := os.Stat(filepath.Join(s.Folder, component+"-ready")); err == nil {
			ready = 1
		}
		fmt.Fprintf(answer, "# HELP %s 1 if the node's %s is ready\n# TYPE %s gauge\n%s %d\n", name, component, name, name, ready)
	}
}
