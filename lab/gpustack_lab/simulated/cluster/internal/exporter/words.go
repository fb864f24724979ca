package exporter

import (
	"maps"
	"slices"

	"gpustack.local/simulated/cluster/internal/telemetry"
)

func ordered(many map[int]int) []int { return slices.Sorted(maps.Keys(many)) }

// clockEvents are the words for the bits of the clocks' event reasons.
var clockEvents = map[int]string{
	0x1: "gpu_idle", 0x2: "clocks_setting", 0x4: "power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
	0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake", 0x100: "display_clocks",
}

func clockEvent(bit int) string { return clockEvents[bit] }

// watches are DCGM's health watches, in its order.
var watches = []string{"PCIE", "NVLINK", "PMU", "MCU", "MEM", "SM", "INFOROM", "THERMAL", "POWER", "DRIVER"}

// What DCGM says of a watch.
const (
	pass = 0
	warn = 10
	fail = 20
)

// health is a coarse part of DCGM's judgement: what the simulated faults lead to. Each is told under one watch only.
func health(watch string, reading telemetry.Reading) (int, string) {
	set := func(key string) bool { value, _ := reading.GPU.Number(key); return value != 0 }
	switch {
	case watch == "MEM" && set("remap_fail"):
		return fail, "DCGM_FR_ROW_REMAP_FAILURE"
	case watch == "MEM" && set("ecc_dbe"):
		return fail, "DCGM_FR_VOLATILE_DBE_DETECTED"
	case watch == "MEM" && reading.Xid == 95:
		return fail, "DCGM_FR_UNCONTAINED_ERROR"
	case watch == "MEM" && set("remap_pending"):
		return warn, "DCGM_FR_PENDING_ROW_REMAP"
	case watch == "DRIVER" && slices.Contains([]int{46, 48, 62, 64, 79, 109, 110, 119, 120, 140}, reading.Xid):
		return fail, "DCGM_FR_XID_ERROR"
	case watch == "NVLINK" && reading.Xid == 74:
		return fail, "DCGM_FR_NVLINK_ERROR_CRITICAL"
	case watch == "THERMAL" && reading.Slowed(telemetry.HWThermal|telemetry.SWThermal):
		return warn, "DCGM_FR_CLOCK_THROTTLE_THERMAL"
	case watch == "POWER" && reading.Slowed(telemetry.PowerBrake):
		return warn, "DCGM_FR_CLOCK_THROTTLE_POWER"
	}
	return pass, "DCGM_FR_OK"
}

// xidText is the message beside an Xid: the names of NVIDIA's Xid catalogue for the codes that matter here.
func xidText(code int) string {
	if text, ok := xidTexts[code]; ok {
		return text
	}
	return "Unknown Error"
}

var xidTexts = map[int]string{
	0:   "No Error",
	8:   "GPU stopped processing",
	13:  "Graphics Engine Exception",
	31:  "GPU memory page fault",
	32:  "Invalid or corrupted push buffer stream",
	43:  "GPU stopped processing",
	45:  "Preemptive cleanup, due to previous errors -- Most likely to see when running multiple cuda",
	46:  "GPU stopped processing",
	48:  "Double Bit ECC Error",
	54:  "Auxiliary power is not connected to the GPU board",
	62:  "Internal micro-controller halt",
	63:  "ECC page retirement or row remapping recording event",
	64:  "ECC page retirement or row remapper recording failure",
	68:  "NVDEC0 Exception",
	69:  "Graphics Engine class error",
	74:  "NVLINK Error",
	79:  "GPU has fallen off the bus",
	92:  "High single-bit ECC error rate",
	94:  "Contained ECC error",
	95:  "Uncontained ECC error",
	109: "Context Switch Timeout Error",
	110: "Security Fault Error",
	119: "GSP RPC Timeout",
	120: "GSP Error",
	136: "ALI Training Fail",
	140: "Unrecovered ECC Error",
	143: "GPU Initialization Failure",
	154: "GPU Recovery Action Changed",
	155: "NVLINK: SW Defined Error",
	158: "GPU Fatal Timeout",
	167: "PCIE Fatal Timeout",
	171: "Uncorrectable DRAM Error",
	172: "Uncorrectable SRAM Error",
}
