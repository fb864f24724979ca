package exporter

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gpustack.local/simulated/cluster/internal/counters"
	"gpustack.local/simulated/cluster/internal/fields"
	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/podresources"
)

// host is an exporter over files of its own, with a clock that a test moves.
type host struct {
	t         *testing.T
	paths     gpustate.Paths
	collector *Collector
	now       time.Time
	options   Options
	owners    map[string][]podresources.Owner
}

const h100 = "gpu uuid=GPU-a bus=0000:65:00.0 minor=0 name=NVIDIA_H100_80GB_HBM3 mem=81559"

func start(t *testing.T, rows string, gpus ...string) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{t: t, now: time.Unix(1700000000, 0), paths: gpustate.Paths{
		State: filepath.Join(dir, "state"), Events: filepath.Join(dir, "events"), Dev: dir}}
	h.options = Options{Hostname: "gpu1", XidWindow: 5 * time.Minute, ClockWindow: 5 * time.Minute}
	h.state(gpus...)
	h.collector = New(h.paths, h.list(rows), h.options)
	return h
}

func (h *host) list(rows string) []counters.Counter {
	h.t.Helper()
	records, err := counters.Records(strings.NewReader(rows))
	if err != nil {
		h.t.Fatal(err)
	}
	list, err := counters.Parse(records, Enabled(h.paths, fields.Profiling), func(int, string) {})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

func (h *host) state(gpus ...string) {
	h.write(h.paths.State, os.O_TRUNC, "driver 595.91.07\ncuda 13020\n"+strings.Join(gpus, "\n")+"\n")
}

func (h *host) write(path string, how int, text string) {
	h.t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer file.Close()
	file.WriteString(text)
}

// after moves the clock, collects, and returns the samples without what every GPU of this file has in front.
func (h *host) after(passed time.Duration) string {
	h.t.Helper()
	h.now = h.now.Add(passed)
	if err := h.collector.Collect(h.now); err != nil {
		h.t.Fatal(err)
	}
	var out bytes.Buffer
	Write(&out, h.collector.Rows(), h.owners, h.options)
	short := regexp.MustCompile(`gpu="\d+",UUID="([^"]*)",pci_bus_id="[^"]*",device="[^"]*",modelName="[^"]*",hostname="gpu1",?`)
	return short.ReplaceAllString(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(out.String(), ""), "$1 ")
}

func (h *host) expect(passed time.Duration, want string) {
	h.t.Helper()
	if got := h.after(passed); got != want {
		h.t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestFormat(t *testing.T) {
	h := start(t, "DCGM_FI_DEV_POWER_USAGE, gauge, Power draw (in W).\nDCGM_FI_DEV_SM_CLOCK, gauge, Clock.\nDCGM_FI_DRIVER_VERSION, label, x\n",
		h100+" util=50 power=402.25")
	h.owners = map[string][]podresources.Owner{"GPU-a": {{Namespace: "ml", Pod: "train-0", Container: "main"}}}
	h.after(0)
	var out bytes.Buffer
	Write(&out, h.collector.Rows(), h.owners, h.options)
	labels := `{gpu="0",UUID="GPU-a",pci_bus_id="00000000:65:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",hostname="gpu1",` +
		`DCGM_FI_DRIVER_VERSION="595.91.07",container="main",namespace="ml",pod="train-0"}`
	want := "# HELP DCGM_FI_DEV_SM_CLOCK Clock.\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\nDCGM_FI_DEV_SM_CLOCK" + labels + " 1980\n" +
		"# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\nDCGM_FI_DEV_POWER_USAGE" + labels + " 402.250000\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", &out, want)
	}
}

func TestWhatAModelDoesNotHave(t *testing.T) {
	rows := "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, x\nDCGM_FI_PROF_NVLINK_TX_BYTES, gauge, x\nDCGM_FI_DEV_ECC_DBE_VOL_TOTAL, counter, x\n" +
		"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, gauge, x\nDCGM_FI_DEV_PCIE_TX_THROUGHPUT, gauge, x\nDCGM_FI_DEV_XID_ERRORS, gauge, x\n"
	for name, want := range map[string]string{
		"NVIDIA_L4": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{GPU-a } 0\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU-a } 0.000000\n",
		"NVIDIA_H100_80GB_HBM3": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{GPU-a } 0\nDCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{GPU-a } 0\n" +
			"DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU-a } 0.000000\nDCGM_FI_PROF_NVLINK_TX_BYTES{GPU-a } 0\n",
		"NVIDIA_GeForce_RTX_4090": "",
		"NVIDIA_L4 ecc=0":         "DCGM_FI_PROF_GR_ENGINE_ACTIVE{GPU-a } 0.000000\n",
	} {
		h := start(t, rows, "gpu uuid=GPU-a bus=0000:65:00.0 name="+name)
		h.expect(0, want)
	}
	h := start(t, rows, "gpu uuid=GPU-a bus=0000:65:00.0 name=NVIDIA_GeForce_RTX_4090")
	if list := h.list(rows); len(list) != 4 {
		t.Errorf("profiling rows stay on a GPU without: %+v", list)
	}
}

func TestXids(t *testing.T) {
	h := start(t, "DCGM_FI_DEV_XID_ERRORS, gauge, x\nDCGM_EXP_XID_ERRORS_COUNT, gauge, x\nDCGM_EXP_XID_ERRORS_TOTAL, counter, x\n", h100)
	const none = `DCGM_EXP_XID_ERRORS_COUNT{GPU-a window_size_in_ms="300000"} 0` + "\n"
	h.expect(0, none)
	h.write(h.paths.Events, os.O_APPEND, "xid 0 79 1700000001\nxid 0 79 1700000002\nxid 7 48 1700000002\n")
	h.expect(3*time.Second, `DCGM_FI_DEV_XID_ERRORS{GPU-a err_code="79",err_msg="GPU has fallen off the bus"} 79`+"\n"+
		`DCGM_EXP_XID_ERRORS_COUNT{GPU-a window_size_in_ms="300000",xid="79"} 2`+"\n"+`DCGM_EXP_XID_ERRORS_TOTAL{GPU-a xid="79"} 2`+"\n")
	latched := `DCGM_FI_DEV_XID_ERRORS{GPU-a err_code="79",err_msg="GPU has fallen off the bus"} 79` + "\n"
	h.expect(6*time.Minute, latched+none+`DCGM_EXP_XID_ERRORS_TOTAL{GPU-a xid="79"} 2`+"\n")
	h.collector.Reload(h.list("DCGM_FI_DEV_XID_ERRORS, gauge, x\nDCGM_EXP_XID_ERRORS_TOTAL, counter, x\n"))
	h.expect(time.Second, latched)
}

func TestAHealedGPUHasNoXid(t *testing.T) {
	h := start(t, "DCGM_FI_DEV_XID_ERRORS, gauge, x\nDCGM_EXP_XID_ERRORS_COUNT, gauge, x\n", h100+" xid=48")
	h.write(h.paths.Events, os.O_APPEND, "xid 0 48 1700000000\n")
	if got := h.after(time.Second); !strings.Contains(got, `xid="48"} 1`) || !strings.Contains(got, `err_code="48"`) {
		t.Error(got)
	}
	h.state(h100)
	h.write(h.paths.Events, os.O_APPEND, "xid 0 0 1700000001\n")
	h.expect(time.Second, `DCGM_EXP_XID_ERRORS_COUNT{GPU-a window_size_in_ms="300000"} 0`+"\n")
}

func TestCountersGrow(t *testing.T) {
	h := start(t, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, x\nDCGM_FI_DEV_POWER_VIOLATION, counter, x\n"+
		"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS, counter, x\nDCGM_FI_DEV_CLOCK_THROTTLE_REASONS, gauge, x\n",
		h100+" power=100 util=10 viol_power=0.5")
	line := "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{GPU-a } %\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{GPU-a } %\n" +
		"DCGM_FI_DEV_POWER_VIOLATION{GPU-a } %\nDCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS{GPU-a } %\n"
	values := func(texts ...string) string {
		out := line
		for _, text := range texts {
			out = strings.Replace(out, "%", text, 1)
		}
		return out
	}
	h.expect(0, values("4", "0", "0", "0"))
	h.expect(10*time.Second, values("4", "1000000", "5000000000", "0"))
	h.state(h100 + " power=200 util=10 temp=92")
	h.expect(10*time.Second, values("72", "3000000", "5000000000", "10000000000"))
}

func TestClockEvents(t *testing.T) {
	h := start(t, "DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, x\nDCGM_EXP_CLOCK_EVENTS_TOTAL, counter, x\n", h100+" throttle=128")
	h.after(0)
	h.expect(time.Second, `DCGM_EXP_CLOCK_EVENTS_COUNT{GPU-a clock_event="hw_power_brake",window_size_in_ms="300000"} 2`+"\n"+
		`DCGM_EXP_CLOCK_EVENTS_TOTAL{GPU-a clock_event="hw_power_brake"} 1`+"\n")
}

func TestWhatTestsDoToTheExporterAlone(t *testing.T) {
	const temp = "DCGM_FI_DEV_GPU_TEMP, gauge, x\n"
	other := strings.NewReplacer("GPU-a", "GPU-b", "minor=0", "minor=1").Replace(h100)
	h := start(t, temp, h100+" temp=40 exporter_uuid=GPU-b", other+" temp=50 exporter_uuid=GPU-a")
	h.expect(0, "DCGM_FI_DEV_GPU_TEMP{GPU-b } 40\nDCGM_FI_DEV_GPU_TEMP{GPU-a } 50\n")
	h.state(h100+" temp=41 exporter_silent=1", other+" temp=51 lost=1")
	h.expect(time.Second, "")
	h.state(h100 + " temp=42")
	h.expect(time.Second, "DCGM_FI_DEV_GPU_TEMP{GPU-a } 42\n")
	h.state(h100 + " temp=43 exporter_delay=30")
	h.expect(time.Second, "DCGM_FI_DEV_GPU_TEMP{GPU-a } 42\n")
	h.state(h100 + " temp=44 exporter_delay=30")
	h.expect(20*time.Second, "DCGM_FI_DEV_GPU_TEMP{GPU-a } 42\n")
	h.expect(10*time.Second, "DCGM_FI_DEV_GPU_TEMP{GPU-a } 43\n")
	h.state(h100 + " temp=45")
	h.expect(time.Second, "DCGM_FI_DEV_GPU_TEMP{GPU-a } 45\n")
	late := start(t, temp, h100+" temp=40 exporter_delay=30")
	late.expect(0, "")
	late.expect(30*time.Second, "DCGM_FI_DEV_GPU_TEMP{GPU-a } 40\n")
}

func TestAStateThatIsHalfWrittenChangesNothing(t *testing.T) {
	h := start(t, "DCGM_FI_DEV_GPU_TEMP, gauge, x\n", h100+" temp=40")
	h.after(0)
	h.write(h.paths.State, os.O_TRUNC, "")
	if err := h.collector.Collect(h.now); err == nil || len(h.collector.Rows()) != 1 {
		t.Errorf("%v %+v", err, h.collector.Rows())
	}
}

func TestHealth(t *testing.T) {
	h := start(t, "DCGM_EXP_GPU_HEALTH_STATUS, gauge, x\n", h100+" remap_fail=1")
	got := h.after(0)
	if strings.Count(got, "\n") != 10 || !strings.Contains(got, `{GPU-a health_error_code="DCGM_FR_ROW_REMAP_FAILURE",health_watch="MEM"} 20`) ||
		strings.Count(got, "DCGM_FR_OK") != 9 {
		t.Error(got)
	}
}
