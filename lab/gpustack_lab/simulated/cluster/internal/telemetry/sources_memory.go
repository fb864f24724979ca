package telemetry

var memory = map[int]Source{
	90:  of("MiB", bar1),
	92:  key("bar1", "MiB", 1),
	93:  of("MiB", func(r Reading) float64 { return bar1(r) - r.number("bar1", 1) }),
	250: of("MiB", Reading.total),
	251: of("MiB", func(r Reading) float64 { return max(r.total()-r.reserved()-r.used(), 0) }),
	252: of("MiB", Reading.used),
	253: of("MiB", Reading.reserved),
	254: of("ratio", func(r Reading) float64 { return r.used() / max(r.total()-r.reserved(), 1) }).double(),
	300: of("", func(r Reading) float64 { return truth(r.ecc()) }).where(func(r Reading) bool { return r.Model.ECC }),
	301: of("", func(r Reading) float64 { return r.number("ecc_pending", truth(r.ecc())) }).
		where(func(r Reading) bool { return r.Model.ECC }),
	310: key("ecc_sbe", "", 0).where(Reading.ecc),
	311: key("ecc_dbe", "", 0).where(Reading.ecc),
	// Lifetime counters hold at least what happened since the driver was loaded.
	312: of("", func(r Reading) float64 { return r.number("ecc_sbe_agg", r.number("ecc_sbe", 0)) }).where(Reading.ecc),
	313: of("", func(r Reading) float64 { return r.number("ecc_dbe_agg", r.number("ecc_dbe", 0)) }).where(Reading.ecc),
	343: key("ecc_dbe_sram", "", 0).where(Reading.remaps),
	345: key("ecc_dbe_sram", "", 0).where(Reading.remaps),
	346: key("sram_threshold", "", 0).where(Reading.remaps),
	385: key("banks_max", "", 640).where(Reading.remaps).where(hbm),
	388: key("banks_low", "", 0).where(Reading.remaps).where(hbm),
	389: key("banks_none", "", 0).where(Reading.remaps).where(hbm),
	390: key("retired_sbe", "", 0).where(old),
	391: key("retired_dbe", "", 0).where(old),
	392: key("retired_pending", "", 0).where(old),
	393: key("remap_u", "", 0).where(Reading.remaps),
	394: key("remap_c", "", 0).where(Reading.remaps),
	395: key("remap_fail", "", 0).where(Reading.remaps),
	396: key("remap_pending", "", 0).where(Reading.remaps),

	1507: key("unrepairable", "", 0).where(Reading.remaps),
}

// bar1 is as large as the memory on boards with a resizable window, in whole powers of two.
func bar1(r Reading) float64 {
	size := 256.0
	for size < r.total() {
		size *= 2
	}
	return size
}
