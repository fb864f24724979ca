package fields

import "testing"

func TestSpellingsOfOneField(t *testing.T) {
	for id, spellings := range map[int][]string{
		203:  {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", "dcgm_gpu_utilization"},
		1001: {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "dcgm_fi_prof_gr_engine_active"},
		112:  {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"},
		1:    {"DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION"},
		1424: {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS"},
	} {
		for _, name := range spellings {
			if got, ok := ID(name); !ok || got != id {
				t.Errorf("%s is %d (%t), want %d", name, got, ok, id)
			}
		}
	}
}

func TestNamesThatDoNotExist(t *testing.T) {
	// The last one came with DCGM 4.6.1: the exporter of 4.6.0 ends when its counter file names it.
	for _, name := range []string{"", "DCGM_FI_DEV_SM_OCCUPANCY", "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL"} {
		if id, ok := ID(name); ok {
			t.Errorf("%q is known as %d", name, id)
		}
	}
}
