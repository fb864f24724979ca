package telemetry

import "time"

// Totals only grow while the exporter runs. Energy in mJ, throttled time in ns by reason, bytes, cycles.
type Totals struct {
	Energy                    float64
	Throttled                 map[int]float64
	PCIeTX, PCIeRX            float64
	NVLinkTX, NVLinkRX        float64
	Cycles, ActiveCycles, MMA float64
}

// Meter keeps the totals of all GPUs, by UUID.
type Meter struct {
	totals map[string]Totals
	last   map[string]time.Time
}

// NewMeter begins at zero, as after a driver was loaded.
func NewMeter() *Meter { return &Meter{totals: map[string]Totals{}, last: map[string]time.Time{}} }

// Advance adds what happened since the last call for this GPU, at the rates of now, and returns its totals.
func (m *Meter) Advance(r Reading, now time.Time) Totals {
	uuid := r.GPU.UUID
	before, known := m.last[uuid]
	m.last[uuid] = now
	seconds := 0.0
	if known {
		seconds = max(now.Sub(before).Seconds(), 0)
	}
	old := m.totals[uuid]
	next := old
	next.Throttled = map[int]float64{}
	for bit, share := range r.shares() {
		next.Throttled[bit] = old.Throttled[bit] + share*seconds*1e9
	}
	next.Energy += r.power() * seconds * 1000
	next.PCIeTX += r.number("pcie_tx", 0) * seconds
	next.PCIeRX += r.number("pcie_rx", 0) * seconds
	next.NVLinkTX += r.number("nvlink_tx", 0) * seconds
	next.NVLinkRX += r.number("nvlink_rx", 0) * seconds
	cycles := r.clock() * 1e6 * seconds
	next.Cycles += cycles
	next.ActiveCycles += cycles * r.active()
	next.MMA += cycles * r.number("tensor", 0)
	m.totals[uuid] = next
	return next
}
