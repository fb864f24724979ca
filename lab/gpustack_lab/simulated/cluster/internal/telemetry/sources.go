package telemetry

import (
	"fmt"
	"maps"
	"strings"
)

// What of a GPU's kind decides whether it has a field.
var (
	hbm       = func(r Reading) bool { return r.Model.HBM }
	whole     = func(r Reading) bool { return !r.mig() }
	modern    = func(r Reading) bool { return r.Model.Generation >= ampere }
	old       = func(r Reading) bool { return r.ecc() && r.Model.Generation < ampere }
	nvlink    = func(r Reading) bool { return r.Model.Links > 0 }
	nvlink5   = func(r Reading) bool { return r.Model.Links > 0 && r.Model.Generation >= blackwell }
	nvlink4   = func(r Reading) bool { return r.Model.Links > 0 && r.Model.Generation < blackwell }
	profiling = func(r Reading) bool { return r.Model.Profiling }
	gpm       = func(r Reading) bool { return r.Model.Profiling && r.Model.Generation >= hopper }
)

// sources is every field that the simulation has a value for, by id. Ids, units and which GPUs miss what: DCGM 4.6
// dcgm_fields.h and its field documentation. A known field that is not here is like one that no GPU here supports.
var sources = func() map[int]Source {
	all := map[int]Source{}
	for _, part := range []map[int]Source{identity, board, memory, links, profile} {
		maps.Copy(all, part)
	}
	return all
}()

var identity = map[int]Source{
	1:  {Text: func(r Reading) string { return r.Driver }},
	2:  {Text: func(r Reading) string { return "13." + r.Driver }},
	5:  of("", func(r Reading) float64 { return float64(r.CUDA) }),
	50: {Text: func(r Reading) string { return r.GPU.Name }},
	51: {Text: func(r Reading) string { return strings.Fields(r.GPU.Name + " NVIDIA")[0] }},
	52: of("", func(r Reading) float64 { return float64(r.GPU.Index) }),
	53: {Text: func(r Reading) string { return r.GPU.Text("serial") }},
	54: {Text: func(r Reading) string { return UUID(r.GPU) }},
	55: of("", func(r Reading) float64 { return float64(r.GPU.Minor) }),
	57: {Text: func(r Reading) string { return BusID(r.GPU.Bus) }},
	63: of("", capability),
	66: key("persistence", "", 1),
	67: key("mig", "", 0).where(func(r Reading) bool { return r.Model.HBM && r.Model.Generation >= ampere }),
	84: key("inforom", "", 1),
	85: {Text: func(r Reading) string { return r.GPU.Text("vbios") }},
	94: of("", func(r Reading) float64 { return truth(gpm(r)) }),
}

var board = map[int]Source{
	100: of("MHz", Reading.clock),
	101: of("MHz", func(r Reading) float64 { return r.number("memclk", r.Model.Memory) }),
	102: of("MHz", func(r Reading) float64 { return r.number("video", r.clock()*0.8) }),
	112: of("bitmask", func(r Reading) float64 { return float64(r.reasons()) }),
	113: of("MHz", func(r Reading) float64 { return r.Model.SM }),
	114: of("MHz", func(r Reading) float64 { return r.Model.Memory }),
	140: of("C", func(r Reading) float64 { return r.number("memtemp", r.temperature()+6) }).where(hbm),
	150: of("C", Reading.temperature),
	151: of("C", func(Reading) float64 { return 95 }).where(hbm),
	152: of("C", func(r Reading) float64 { return r.Model.MaxOp }),
	153: of("C", func(r Reading) float64 { return r.Model.Slowdown - 2 - r.temperature() }).
		where(func(r Reading) bool { return r.Model.Generation >= ada }),
	155: of("W", Reading.power).double(),
	156: of("mJ", func(r Reading) float64 { return r.number("energy", 0) + r.Total.Energy }),
	157: of("W", Reading.power).where(modern).double(),
	158: of("C", func(r Reading) float64 { return r.Model.Slowdown }),
	159: of("C", func(r Reading) float64 { return r.Model.Shutdown }),
	160: of("W", Reading.limit).double(),
	161: of("W", func(r Reading) float64 { return r.Model.Limit / 2 }).double(),
	162: of("W", func(r Reading) float64 { return r.Model.Limit }).double(),
	163: of("W", func(r Reading) float64 { return r.Model.Limit }).double(),
	164: of("W", Reading.limit).double(),
	190: of("", func(r Reading) float64 { return r.number("pstate", 8*truth(r.load() == 0)) }),
	191: key("fan", "%", 30).where(func(r Reading) bool { return r.Model.Fan }),
	203: of("%", func(r Reading) float64 { return 100 * r.load() }).where(whole),
	204: of("%", func(r Reading) float64 { return r.number("memutil", 100*r.number("dram", 0)) }).where(whole),
	206: key("enc", "%", 0).where(func(r Reading) bool { return r.Model.Enc }),
	207: key("dec", "%", 0),
	// Latches the last code; there is no series before the first.
	230:  of("Xid", func(r Reading) float64 { return float64(r.Xid) }).where(func(r Reading) bool { return r.Xid != 0 }),
	240:  throttled(PowerCap),
	241:  throttled(SWThermal, HWThermal),
	242:  throttled(SyncBoost),
	243:  throttled(PowerBrake),
	244:  throttled(),
	245:  throttled(),
	246:  throttled(),
	247:  throttled(HWSlowdown),
	1420: throttled(PowerCap).where(modern),
	1421: throttled(SyncBoost).where(modern),
	1422: throttled(SWThermal).where(modern),
	1423: throttled(HWThermal).where(modern),
	1424: throttled(PowerBrake).where(modern),
	500:  key("virtual", "", 0),
	526:  key("vgpu_license", "", 0),
	1523: key("recovery", "", 0),
}

// throttled is the time in ns that any of the reasons held the clocks down; without one it stays 0.
func throttled(bits ...int) Source {
	return of("ns", func(r Reading) float64 {
		sum := 0.0
		for _, bit := range bits {
			sum += r.Total.Throttled[bit]
		}
		return sum
	})
}

// capability is major<<16 | minor, from the state's cc=9.0.
func capability(r Reading) float64 {
	var major, minor int
	if _, err := fmt.Sscanf(r.GPU.Text("cc"), "%d.%d", &major, &minor); err != nil {
		major, minor = r.Model.Generation/10, r.Model.Generation%10
	}
	return float64(major<<16 | minor)
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
