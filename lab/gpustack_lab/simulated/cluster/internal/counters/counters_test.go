package counters

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpustack.local/simulated/cluster/internal/fields"
)

func all(int) bool       { return true }
func nobody(int, string) {}
func parse(text string) ([]Counter, error) {
	records, err := Records(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return Parse(records, all, nobody)
}

func TestGrammar(t *testing.T) {
	got, err := parse("# DCGM FIELD, type, help\n\nDCGM_FI_DEV_DEC_UTIL ,     gauge, Decoder utilization (in %).\n" +
		"DCGM_FI_DRIVER_VERSION, label, Driver Version\nDCGM_EXP_XID_ERRORS_COUNT, whatever, Xids\n" +
		"DCGM_FI_DEV_GPU_TEMP, gauge, first\nDCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, the same field\n")
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0] != (Counter{207, "DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %)."}) {
		t.Errorf("%+v", got[0])
	}
	if !got[1].IsLabel() || got[2].ID < FirstOwn || got[3].Help != "first" {
		t.Errorf("%+v", got)
	}
}

func TestRefusals(t *testing.T) {
	for text, says := range map[string]string{
		"DCGM_FI_DEV_GPU_TEMPO, gauge, x":                       "could not find DCGM field; err: unknown ExporterCounter field 'DCGM_FI_DEV_GPU_TEMPO'",
		"DCGM_EXP_XID_ERRORS, gauge, x":                         "unknown ExporterCounter field 'DCGM_EXP_XID_ERRORS'",
		"DCGM_FI_DEV_GPU_TEMP, gouge, x":                        "could not find Prometheus metric type 'gouge'",
		"DCGM_FI_DEV_GPU_TEMP, gauge":                           "malformed CSV record; err: failed to parse line 0",
		"DCGM_FI_DEV_GPU_TEMP, gauge, hot, hotter":              "expected 3 fields",
		"DCGM_FI_DEV_GPU_TEMP, gauge, x\nDCGM_FI_DEV_SM_CLOCK,": "wrong number of fields",
		" # a comment that begins late":                         "malformed CSV record",
	} {
		if got, err := parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.csv"), all, nobody); err == nil || !strings.HasPrefix(err.Error(), "could not read metrics file") {
		t.Error(err)
	}
}

func TestWhatNoGPUHasIsSkipped(t *testing.T) {
	records, _ := Records(strings.NewReader("DCGM_FI_PROF_DRAM_ACTIVE, gauge, x\nDCGM_FI_DEV_GPU_TEMP, gauge, x\n"))
	var told []string
	got, err := Parse(records, func(id int) bool { return !fields.Profiling(id) }, func(_ int, name string) { told = append(told, name) })
	if err != nil || len(got) != 1 || len(told) != 1 || told[0] != "DCGM_FI_PROF_DRAM_ACTIVE" {
		t.Errorf("%+v %v %v", got, told, err)
	}
}

func TestShippedFilesAreRead(t *testing.T) {
	files, _ := filepath.Glob("../../cmd/dcgm-exporter/etc/*.csv")
	if len(files) != 2 {
		t.Fatalf("%v", files)
	}
	for _, path := range files {
		got, err := Read(path, all, nobody)
		if err != nil || len(got) != 26 {
			t.Errorf("%s: %d counters, %v", path, len(got), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature (in C).\n")
	f.Add("\"DCGM_FI_DEV_SM_CLOCK\",gauge,\"a, b\"\n#x\n")
	text, err := os.ReadFile("../../cmd/dcgm-exporter/etc/default-counters.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parse(text)
		if err != nil && got != nil {
			t.Error("counters beside an error")
		}
		seen := map[int]bool{}
		for _, counter := range got {
			if seen[counter.ID] || (counter.ID < FirstOwn && !types[counter.Type]) {
				t.Errorf("%+v", counter)
			}
			seen[counter.ID] = true
		}
	})
}
