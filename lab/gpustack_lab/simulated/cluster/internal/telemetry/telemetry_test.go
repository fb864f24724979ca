package telemetry

import (
	"strings"
	"testing"

	"gpustack.local/simulated/cluster/internal/fields"
	"gpustack.local/simulated/cluster/internal/gpustate"
)

func reading(t *testing.T, keys string) Reading {
	t.Helper()
	state, err := gpustate.Parse("driver 595.91.07\ncuda 13020\ngpu uuid=GPU-a bus=0000:65:00.0 " + keys + "\n")
	if err != nil {
		t.Fatal(err)
	}
	gpu := state.GPUs[0]
	return Reading{Driver: state.Driver, CUDA: state.CUDA, GPU: gpu, Model: ModelFor(gpu)}
}

func TestEverySourceIsAField(t *testing.T) {
	known := map[int]bool{}
	for _, name := range fields.Names() {
		id, _ := fields.ID(name)
		known[id] = true
	}
	for id, source := range sources {
		if !known[id] || (source.Read == nil) == (source.Text == nil) {
			t.Errorf("%d: %+v", id, source)
		}
	}
}

// What dashboards and alerts may use has a value on an H100 under load.
func TestFieldsOfAnH100(t *testing.T) {
	r := reading(t, "name=NVIDIA_H100_80GB_HBM3 mem=81559 util=90 serial=1654 vbios=96.00 xid=0")
	r.Xid = 79
	const names = `SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP POWER_USAGE TOTAL_ENERGY_CONSUMPTION PCIE_REPLAY_COUNTER GPU_UTIL MEM_COPY_UTIL
		DEC_UTIL XID_ERRORS FB_FREE FB_USED FB_RESERVED FB_TOTAL NVLINK_BANDWIDTH_TOTAL VGPU_LICENSE_STATUS UNCORRECTABLE_REMAPPED_ROWS
		CORRECTABLE_REMAPPED_ROWS ROW_REMAP_FAILURE ROW_REMAP_PENDING CLOCKS_EVENT_REASONS CLOCK_THROTTLE_REASONS ECC_SBE_VOL_TOTAL
		ECC_DBE_VOL_TOTAL ECC_SBE_AGG_TOTAL ECC_DBE_AGG_TOTAL POWER_VIOLATION THERMAL_VIOLATION CLOCKS_EVENT_REASON_SW_POWER_CAP_NS
		CLOCKS_EVENT_REASON_SYNC_BOOST_NS CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS
		CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS ENFORCED_POWER_LIMIT POWER_MGMT_LIMIT POWER_MGMT_LIMIT_DEF PCIE_LINK_GEN
		PCIE_LINK_WIDTH PCIE_MAX_LINK_GEN PCIE_MAX_LINK_WIDTH SHUTDOWN_TEMP SLOWDOWN_TEMP GPU_MAX_OP_TEMP GPU_TEMP_LIMIT MAX_SM_CLOCK
		PSTATE ECC_CURRENT THRESHOLD_SRM BANKS_REMAP_ROWS_AVAIL_NONE GET_GPU_RECOVERY_ACTION FABRIC_MANAGER_STATUS SERIAL VBIOS_VERSION
		NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL NVLINK_REPLAY_ERROR_COUNT_TOTAL MEMORY_UNREPAIRABLE_FLAG`
	const profile = `GR_ENGINE_ACTIVE SM_ACTIVE SM_OCCUPANCY PIPE_TENSOR_ACTIVE PIPE_FP64_ACTIVE PIPE_FP32_ACTIVE PIPE_FP16_ACTIVE
		DRAM_ACTIVE PCIE_TX_BYTES PCIE_RX_BYTES NVLINK_TX_BYTES NVLINK_RX_BYTES`
	for prefix, words := range map[string]string{"DCGM_FI_DEV_": names, "DCGM_FI_PROF_": profile} {
		for word := range strings.FieldsSeq(words) {
			id, known := fields.ID(prefix + word)
			if value, ok := Value(id, r); !known || !ok {
				t.Errorf("%s%s: id %d, %q", prefix, word, id, value)
			}
		}
	}
}

func TestValues(t *testing.T) {
	for _, here := range []struct{ keys, field, want string }{
		{"name=NVIDIA_H100_80GB_HBM3 power=100.5", "DCGM_FI_DEV_POWER_USAGE", "100.500000"},
		{"name=NVIDIA_H100_80GB_HBM3 mem=1000 used=400 reserved=100", "DCGM_FI_DEV_FB_FREE", "500"},
		{"name=NVIDIA_H100_80GB_HBM3 mem=1100 used=400 reserved=100", "DCGM_FI_DEV_FB_USED_PERCENT", "0.400000"},
		{"name=NVIDIA_H100_80GB_HBM3 nvlink_tx=2e9 nvlink_rx=1e9", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "3000"},
		{"name=NVIDIA_H100_80GB_HBM3", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "1"},
		{"name=NVIDIA_H100_80GB_HBM3 util=5 temp=88", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "32"},
		{"name=NVIDIA_H100_80GB_HBM3 util=5 viol_brake=1", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "136"},
		{"name=NVIDIA_H100_80GB_HBM3 util=50 mig=1", "DCGM_FI_DEV_GPU_UTIL", ""},
		{"name=NVIDIA_H100_80GB_HBM3 util=50 mig=1", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.500000"},
		{"name=NVIDIA_H100_80GB_HBM3", "DCGM_FI_DEV_RETIRED_DBE", ""},
		{"name=Tesla_T4", "DCGM_FI_DEV_RETIRED_DBE", "0"},
		{"name=Tesla_T4", "DCGM_FI_DEV_MEMORY_TEMP", ""},
		{"name=NVIDIA_L4 cc=8.9", "DCGM_FI_DEV_CUDA_COMPUTE_CAPABILITY", "524297"},
		{"name=NVIDIA_L4 used=9223372036854775794", "DCGM_FI_DEV_FB_USED", ""},
		{"name=NVIDIA_L4 power=140737488355328", "DCGM_FI_DEV_POWER_USAGE", ""},
		{"name=NVIDIA_L4", "DCGM_FI_DEV_SERIAL", ""},
		{"name=NVIDIA_L4 slowdown=80 temp=80", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "73"},
		{"name=NVIDIA_L4 slowdown=80", "DCGM_FI_DEV_SHUTDOWN_TEMP", "83"},
		{"name=NVIDIA_L4 pcie_gen=5 util=9", "DCGM_FI_DEV_PCIE_LINK_GEN", "5"},
		{"name=NVIDIA_L4 pcie_gen=5 util=9 link_gen=1", "DCGM_FI_DEV_PCIE_LINK_GEN", "1"},
	} {
		id, _ := fields.ID(here.field)
		if got, _ := Value(id, reading(t, here.keys)); got != here.want && !(here.want == "" && !shown(id, reading(t, here.keys))) {
			t.Errorf("%s of %s: %q, want %q", here.field, here.keys, got, here.want)
		}
	}
}

func shown(id int, r Reading) bool { _, ok := Value(id, r); return ok }

func TestModels(t *testing.T) {
	for name, part := range map[string]string{
		"NVIDIA A100-SXM4-80GB": "A100", "NVIDIA A10": "A10", "NVIDIA L4": "L4", "NVIDIA L40S": "L40S", "Tesla T4": "T4",
		"NVIDIA H100 PCIe": "H100 PCIe", "NVIDIA H100 80GB HBM3": "H100", "NVIDIA Rubin": "H100", "": "H100",
	} {
		if got := ModelOf(name); got.part != part {
			t.Errorf("%s: %s", name, got.part)
		}
	}
}
