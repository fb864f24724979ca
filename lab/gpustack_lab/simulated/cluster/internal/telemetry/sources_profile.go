package telemetry

// active is the share of SM time with a warp resident, a little below the engine's where the state does not say it.
func (r Reading) active() float64 { return r.number("sm_active", 0.9*r.load()) }

func ratio(name string) Source { return key(name, "ratio", 0).where(profiling).double() }

// The profiling fields: ratios from 0 to 1, and rates in bytes per second.
var profile = map[int]Source{
	1001: of("ratio", func(r Reading) float64 { return r.number("gr", r.load()) }).where(profiling).double(),
	1002: of("ratio", Reading.active).where(profiling).double(),
	1003: of("ratio", func(r Reading) float64 { return r.number("sm_occ", 0.3*r.active()) }).where(profiling).double(),
	1004: ratio("tensor"),
	1005: ratio("dram"),
	1006: ratio("fp64"),
	1007: ratio("fp32"),
	1008: ratio("fp16"),
	1009: key("pcie_tx", "bytes/s", 0).where(profiling),
	1010: key("pcie_rx", "bytes/s", 0).where(profiling),
	1011: key("nvlink_tx", "bytes/s", 0).where(profiling).where(nvlink),
	1012: key("nvlink_rx", "bytes/s", 0).where(profiling).where(nvlink),
	1013: ratio("imma"),
	1014: of("ratio", func(r Reading) float64 { return r.number("hmma", r.number("tensor", 0)) }).where(profiling).double(),
	1015: ratio("dfma"),
	1016: ratio("int"),
	1084: of("cycles", func(r Reading) float64 { return r.Total.Cycles }).where(gpm),
	1085: of("cycles", func(r Reading) float64 { return r.Total.ActiveCycles }).where(gpm),
	1086: of("cycles", func(r Reading) float64 { return r.Total.MMA }).where(gpm),
	1091: of("bytes", func(r Reading) float64 { return r.Total.PCIeTX }).where(gpm),
	1092: of("bytes", func(r Reading) float64 { return r.Total.PCIeRX }).where(gpm),
}
