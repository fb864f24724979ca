package dcgm

import (
	"fmt"
	"math"
	"strconv"

	"gpustack.local/simulated/cluster/internal/telemetry"
)

// profTest is the test of a field. `more` is what its source adds to the number of intervals before it rounds down; the
// heading takes the GPU's id and the duration.
type profTest struct {
	title, tag, heading string
	more                float64
	line                func(t *tester, w *worker, field int, at tick) string
}

// tick is a line's place among all of its test.
type tick struct {
	title        string
	activity, of int
	seconds      float64
}

func (one profTest) count(duration, interval float64) int {
	return int(duration/interval + one.more)
}

const (
	rule = "\n---------------------------------------------------------"

	occupancyHeading = "GPU %d: Testing SmOccupancy scaling by num threads for %s seconds." + rule + "----\n"
	activityHeading  = "GPU %d: Testing SmActivity scaling by SM count  for %s seconds." + rule + "\n"
	highestHeading   = "GPU %d: Testing Maximum SmOccupancy/SmActivity/GrActivity for %s seconds." + rule + "----\n"
)

var profTests = map[int]profTest{
	1001: {"Graphics Activity", "gr_activity", "", 0.5, grActivity},
	1002: {"SM Activity - SM Count", "sm_activity_sm_count", activityHeading, 0.5, smActivity},
	1003: {"SM Occupancy - Num Threads", "sm_occupancy_num_threads", occupancyHeading, 0.5, smOccupancy},
	1004: {"TensorEngineActive", "tensor_active", "", 1.5, gemm},
	1005: {"DRAM Activity", "dram_activity", "", 1.5, dram},
	1006: {"Fp64EngineActive", "fp64_active", "", 1, dataType},
	1007: {"Fp32EngineActive", "fp32_active", "", 1, dataType},
	1008: {"Fp16EngineActive", "fp16_active", "", 1, dataType},
	1009: {"PcieTxBytes", "pcie_tx_bytes", "", 1.5, pcie},
	1010: {"PcieRxBytes", "pcie_rx_bytes", "", 1.5, pcie},
}

// find is the test of a field with the settings: false where DCGM has none.
func (t *tester) find(field int) (profTest, bool) {
	if t.settings.has("target-max-value") && field <= 1003 {
		return profTest{"SM Occupancy - Max", "sm_occupancy_max", highestHeading, 0.5, highest}, true
	}
	one, ok := profTests[field]
	if t.settings.has("cublas") && field >= 1006 && field <= 1008 {
		one.more, one.line = 1.5, gemm
	}
	return one, ok
}

// line prints a line of one GPU, the first of a test below its heading.
func (t *tester) line(field int, one profTest, w *worker, at tick) {
	if len(w.measured) == 0 && t.settings.has("dvs") {
		t.print("&&&& RUNNING %s\n", one.tag)
	}
	w.measured = append(w.measured, numeric(field, w.reading))
	if !t.reports() {
		return
	}
	if one.heading != "" && !t.titled {
		t.print(one.heading, w.id, digits(t.settings.float("duration", 30)))
	}
	t.titled = true
	t.print("%s\n", one.line(t, w, field, at))
}

// measured is the field as DCGM has it: 0 with --no-dcgm-validation, which asks DCGM for nothing.
func (t *tester) measured(w *worker, field int, divisor float64) string {
	if t.settings.has("no-dcgm-validation") {
		return "0"
	}
	if _, ok := telemetry.Value(field, w.reading); !ok {
		return "<unknown>"
	}
	return strconv.FormatFloat(numeric(field, w.reading)/divisor, 'g', 6, 64)
}

// digits is fmt's {:#.3} of a number that came as text with three decimals.
func digits(value float64) string { return fmt.Sprintf("%#.3g", math.Round(value*1000)/1000) }

// before and now are how far a test is at the line before and at this one, 0 to 1.
func (at tick) before() string { return digits(float64(max(at.activity-1, 0)) / float64(at.of)) }
func (at tick) now() string    { return digits(float64(at.activity) / float64(at.of)) }

func highest(t *tester, w *worker, field int, at tick) string {
	return fmt.Sprintf("Worker %d:0[%d]: SmOccupancy generated 1.0, dcgm%s at %s seconds. threadPerSm %d.",
		w.id, field, t.measured(w, field, 1), digits(at.seconds), silicon(w.reading).threads)
}

func grActivity(t *tester, w *worker, field int, at tick) string {
	return fmt.Sprintf("Worker %d:0 [%d]: GrActivity: generated %s/%s, dcgm %s at %s seconds. %d",
		w.id, field, at.before(), at.now(), t.measured(w, field, 1), digits(at.seconds), at.activity)
}

func smActivity(t *tester, w *worker, field int, at tick) string {
	all := silicon(w.reading).sms
	return fmt.Sprintf("Worker %d:0[%d]: SmActivity generated %s/%s, dcgm %s at %s seconds. numSms %d / %d.",
		w.id, field, at.before(), at.now(), t.measured(w, field, 1), digits(at.seconds), at.activity*all/at.of, all)
}

func smOccupancy(t *tester, w *worker, field int, at tick) string {
	all := silicon(w.reading).threads
	return fmt.Sprintf("Worker %d:0[%d]: SmOccupancy generated %s/%s, dcgm %s at %s seconds. threadsPerSm %d / %d.",
		w.id, field, at.before(), at.now(), t.measured(w, field, 1), digits(at.seconds), at.activity*all/at.of, all)
}

func gemm(t *tester, w *worker, field int, at tick) string {
	return fmt.Sprintf("Worker %d:0 [%d]: %s:  generated ???, dcgm %s (%s gflops).",
		w.id, field, at.title, t.measured(w, field, 1), digits(numeric(field, w.reading)*gflops(field, w.reading)))
}

func dataType(t *tester, w *worker, field int, at tick) string {
	return fmt.Sprintf("Worker %d:0[%d]: %s: target max, dcgm %s", w.id, field, at.title, t.measured(w, field, 1))
}

func dram(t *tester, w *worker, field int, _ tick) string {
	share := numeric(field, w.reading)
	return fmt.Sprintf("Worker %d:0[%d]: DramUtil generated %s/%s, dcgm %s (%s GiB/sec). bandwidthDivisor 1.00",
		w.id, field, digits(share), digits(share), t.measured(w, field, 1), digits(share*bandwidth(w.reading)/1e9))
}

func pcie(t *tester, w *worker, field int, at tick) string {
	rate := numeric(field, w.reading) / 1e6
	text := digits(rate)
	reached := rate
	if t.settings.has("no-dcgm-validation") {
		reached = 0
	}
	generation, lanes := int(numeric(235, w.reading)), int(numeric(236, w.reading))
	return fmt.Sprintf("Worker %d:0[%d]: %s generated %s/%s (%s/%s). dcgm %s MiB/sec (%s%% speed-of-light), PCIE version/lanes: %d/%d.",
		w.id, field, at.title, text, text, text, text, t.measured(w, field, 1e6),
		digits(100*reached/speed(generation, lanes)), generation, lanes)
}

// speeds are those of 16 lanes in GB/s, by generation. Source: PhysicalGpu.cpp, RunSubtestPcieBandwidth.
var speeds = []float64{4, 8, 15.754, 31.508, 63.015, 126.031}

func speed(generation, lanes int) float64 {
	return speeds[min(max(generation, 1), len(speeds))-1] / 16 * float64(lanes) * 1000
}
