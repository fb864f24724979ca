package telemetry

import "maps"

// lanes is how wide a PCIe slot for these boards is.
const lanes = 16

var links = func() map[int]Source {
	all := map[int]Source{
		// Hard-wired not supported in every public DCGM since 2021.
		200: never(),
		201: never(),
		202: key("replay", "", 0),
		235: of("", func(r Reading) float64 { return r.Model.PCIe }),
		236: of("", func(Reading) float64 { return lanes }),
		// An idle link may train down; the width never changes by itself.
		237:  of("", func(r Reading) float64 { return r.number("link_gen", max(r.Model.PCIe*truth(r.load() > 0), 1)) }),
		238:  key("link_width", "", lanes),
		1501: key("pcie_correctable", "", 0),

		170: key("fabric", "", 3).where(func(r Reading) bool { return r.Model.Links >= 12 }),
		// A rate in MB/s, both directions, whatever the counter file calls it.
		449: of("MB/s", func(r Reading) float64 { return (r.number("nvlink_tx", 0) + r.number("nvlink_rx", 0)) / 1e6 }).where(nvlink),
		843: of("MB/s", func(r Reading) float64 { return r.number("nvlink_tx", 0) / 1e6 }).where(nvlink),
		897: of("MB/s", func(r Reading) float64 { return r.number("nvlink_rx", 0) / 1e6 }).where(nvlink),

		1201: of("bytes", func(r Reading) float64 { return r.Total.NVLinkTX }).where(nvlink5),
		1203: of("bytes", func(r Reading) float64 { return r.Total.NVLinkRX }).where(nvlink5),
		1206: key("nvlink_rx_errors", "", 0).where(nvlink5),
		1212: key("nvlink_recovery_failed", "", 0).where(nvlink5),
		1216: key("nvlink_ber", "", 0).where(nvlink5).double(),
		1218: key("nvlink_ber", "", 0).where(nvlink5).double(),
	}
	// Error totals over all links of a GPU; Blackwell has the set from 1200 on instead.
	maps.Copy(all, map[int]Source{
		409: key("nvlink_crc_flit", "", 0).where(nvlink4),
		419: key("nvlink_crc_data", "", 0).where(nvlink4),
		429: key("nvlink_replay", "", 0).where(nvlink4),
		439: key("nvlink_recovery", "", 0).where(nvlink4),
		497: key("nvlink_crc_data", "", 0).where(nvlink4),
		498: key("nvlink_recovery", "", 0).where(nvlink4),
		499: key("nvlink_replay", "", 0).where(nvlink4),
	})
	return all
}()
