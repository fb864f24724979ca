package telemetry

import (
	"strings"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// UUID is what the exporter prints: the GPU's own, or the one that a test put in its place (exporter_uuid).
func UUID(gpu gpustate.GPU) string {
	if other := gpu.Text("exporter_uuid"); other != "" {
		return other
	}
	return gpu.UUID
}

// BusID is a PCI address as NVML writes it: eight digits of domain, capitals. 0000:65:00.0 → 00000000:65:00.0.
func BusID(bus string) string {
	domain, rest, ok := strings.Cut(bus, ":")
	if !ok {
		return strings.ToUpper(bus)
	}
	return strings.ToUpper(strings.Repeat("0", max(8-len(domain), 0)) + domain + ":" + rest)
}
