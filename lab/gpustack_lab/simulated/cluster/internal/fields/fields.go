// Package fields knows the names and ids of DCGM's fields, in the legacy spelling, in that of DCGM 4.6 and in the
// exporter's own of version 1 (dcgm_gpu_temp).
package fields

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed names.csv
var table string

// Ids of the profiling fields, the only ones that an exporter leaves out of its counters where no GPU has them.
// Source: dcgm-exporter, internal/pkg/counters (dcpFieldsStart, cpuFieldsStart).
const (
	firstProfiling = 1001
	firstCPU       = 1100
)

var ids = sync.OnceValue(func() map[string]int {
	out := make(map[string]int, 1024)
	for line := range strings.Lines(table) {
		name, number, ok := strings.Cut(strings.TrimSpace(line), ",")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		id, err := strconv.Atoi(number)
		if err != nil {
			panic("names.csv: " + line)
		}
		out[name] = id
	}
	return out
})

// ID is the number of a field name in any spelling.
func ID(name string) (int, bool) {
	id, ok := ids()[name]
	return id, ok
}

// Names lists every known spelling, in no order.
func Names() []string {
	out := make([]string, 0, len(ids()))
	for name := range ids() {
		out = append(out, name)
	}
	return out
}

// Profiling says whether the id is one of DCGM's profiling fields.
func Profiling(id int) bool { return id >= firstProfiling && id < firstCPU }
