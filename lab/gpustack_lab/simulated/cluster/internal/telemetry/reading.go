// Package telemetry says what DCGM would read of a simulated GPU: what the state file says, else what follows from its
// load, else what its model has; and it keeps the counters that grow with time.
package telemetry

import (
	"math"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// Bits of DCGM_FI_DEV_CLOCKS_EVENT_REASONS. Source: dcgm_fields.h.
const (
	Idle       = 0x1
	PowerCap   = 0x4
	HWSlowdown = 0x8
	SyncBoost  = 0x10
	SWThermal  = 0x20
	HWThermal  = 0x40
	PowerBrake = 0x80
)

// Reading is one GPU at one moment.
type Reading struct {
	Driver string
	CUDA   int
	GPU    gpustate.GPU
	Model  Model
	Total  Totals
	Xid    int // last code, 0 before the first
}

// number is the state's key, else the given value.
func (r Reading) number(key string, otherwise float64) float64 {
	if value, ok := r.GPU.Number(key); ok {
		return value
	}
	return otherwise
}

// load is the busy share of time, 0 to 1: from util (percent), else from gr.
func (r Reading) load() float64 {
	if util, ok := r.GPU.Number("util"); ok {
		return min(max(util/100, 0), 1)
	}
	return r.number("gr", 0)
}

func (r Reading) limit() float64 { return r.number("limit", r.Model.Limit) }

func (r Reading) power() float64 {
	return r.number("power", r.Model.Idle+(0.9*r.limit()-r.Model.Idle)*r.load())
}

func (r Reading) temperature() float64 { return r.number("temp", math.Round(34+30*r.load())) }

func (r Reading) total() float64    { return r.number("mem", 81559) }
func (r Reading) reserved() float64 { return r.number("reserved", 535) }
func (r Reading) used() float64     { return r.number("used", 0) }
func (r Reading) ecc() bool         { return r.Model.ECC && r.number("ecc", 1) != 0 }
func (r Reading) remaps() bool      { return r.ecc() && r.Model.Generation >= ampere }
func (r Reading) mig() bool         { return r.number("mig", 0) != 0 }

// shares is how much of the time each reason holds the clocks down, 0 to 1, by bit: the keys viol_power, viol_thermal,
// viol_sw_thermal and viol_brake; the bits of throttle; and a temperature above the model's slowdown threshold.
func (r Reading) shares() map[int]float64 {
	out := map[int]float64{
		PowerCap:   r.number("viol_power", 0),
		SWThermal:  r.number("viol_sw_thermal", 0),
		HWThermal:  r.number("viol_thermal", 0),
		PowerBrake: r.number("viol_brake", 0),
	}
	throttle := int(r.number("throttle", 0))
	for _, bit := range []int{PowerCap, HWSlowdown, SyncBoost, SWThermal, HWThermal, PowerBrake} {
		out[bit] = min(max(out[bit], 0), 1)
		if throttle&bit != 0 && out[bit] == 0 {
			out[bit] = 1
		}
	}
	if r.temperature() >= r.Model.Slowdown {
		out[HWThermal] = 1
	} else if r.temperature() >= r.Model.MaxOp {
		out[SWThermal] = 1
	}
	out[HWSlowdown] = max(out[HWSlowdown], out[HWThermal], out[PowerBrake])
	return out
}

// reasons is the bit mask of this moment; an idle GPU has the idle bit.
func (r Reading) reasons() int {
	if mask, ok := r.GPU.Number("throttle"); ok {
		return int(mask)
	}
	mask := 0
	for bit, share := range r.shares() {
		if share > 0 {
			mask |= bit
		}
	}
	if r.load() == 0 {
		mask |= Idle
	}
	return mask
}

// clock is the SM clock: the highest under load, a low one without, a third where the hardware slows down.
func (r Reading) clock() float64 {
	switch {
	case r.load() == 0:
		return r.number("sm", 345)
	case r.shares()[HWSlowdown] > 0:
		return r.number("sm", math.Round(r.Model.SM/3))
	}
	return r.number("sm", r.Model.SM)
}

// Slowed says whether any reason of the mask holds the clocks down now.
func (r Reading) Slowed(mask int) bool { return r.reasons()&mask != 0 }

// Reasons is the bit mask of the clocks' event reasons.
func (r Reading) Reasons() int { return r.reasons() }
