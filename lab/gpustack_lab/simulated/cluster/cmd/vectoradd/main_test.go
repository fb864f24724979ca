package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

func TestOnlyWhereAGPUIsUsable(t *testing.T) {
	const gpu = "driver 595.91.07\ngpu uuid=GPU-a bus=0000:65:00.0 minor=1 name=NVIDIA_L4"
	const end = "\n"
	for name, here := range map[string]struct {
		state, node string
		status      int
	}{
		"the GPU's node":    {gpu, "nvidia1", 0},
		"another's node":    {gpu, "nvidia0", 1},
		"no node":           {gpu, "nvidiactl", 1},
		"off the bus":       {gpu + " lost=1", "nvidia1", 1},
		"no GPU":            {"driver 595.91.07", "nvidia1", 1},
		"a state cut short": {"gpu uuid=GPU-a", "nvidia1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			paths := gpustate.Paths{State: filepath.Join(dir, "state"), Dev: dir}
			write(t, paths.State, here.state+end)
			write(t, filepath.Join(dir, here.node), "")
			var out, errs bytes.Buffer
			if status := run(paths, &out, &errs); status != here.status {
				t.Errorf("status %d: %s%s", status, &out, &errs)
			}
			passed := strings.HasSuffix(out.String(), "Test PASSED\nDone\n")
			if passed != (here.status == 0) || strings.Contains(errs.String(), "no CUDA-capable device") == passed {
				t.Errorf("%s%s", &out, &errs)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
