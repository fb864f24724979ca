package dcgm

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"gpustack.local/simulated/cluster/internal/telemetry"
)

// Groups that are there without being made. Source: dcgmlib/dcgm_structs.h, dcgmlib/src/DcgmGroupManager.inl.
const allGPUs = 0x7fffffff

const version = "4.6.0"

const versionLine = "\ndcgmi  version: " + version + "\n\n"

// Source: common/DcgmBuildInfo.cpp.in. Commit, date and CRC of a real build are left out.
const buildInfo = "Version : " + version + "\nBuild Type : SIMULATED\nBuild Platform : gpustack's lab\n"

// group is what `dcgmi group -c` makes.
type group struct {
	name string
	gpus []int
}

// members are the GPUs of a group: 0 and all_gpus are all of them. The caller holds the lock.
func (e *Engine) members(id int, now time.Time) (group, int) {
	if id == 0 || id == allGPUs {
		all := group{name: "DCGM_ALL_SUPPORTED_GPUS"}
		for _, reading := range e.readings(now) {
			all.gpus = append(all.gpus, reading.GPU.Index)
		}
		return all, stOK
	}
	if found, ok := e.groups[id]; ok {
		return *found, stOK
	}
	return group{}, stNotConfigured
}

// chosen are the readings of some GPUs, in their order. The caller holds the lock.
func (e *Engine) chosen(gpus []int, now time.Time) []telemetry.Reading {
	var out []telemetry.Reading
	for _, reading := range e.readings(now) {
		for _, gpu := range gpus {
			if reading.GPU.Index == gpu {
				out = append(out, reading)
			}
		}
	}
	return out
}

// entities reads `0,1` or `gpu:0`; other kinds of entities the simulation does not have.
// Source: common/EntityListHelpers.cpp.
func (e *Engine) entities(text string, now time.Time) ([]int, error) {
	there := map[int]bool{}
	for _, reading := range e.readings(now) {
		there[reading.GPU.Index] = true
	}
	var out []int
	for word := range strings.SplitSeq(text, ",") {
		number := strings.TrimPrefix(strings.TrimSpace(word), "gpu:")
		gpu, err := strconv.Atoi(number)
		if err != nil || !there[gpu] {
			return nil, fmt.Errorf("unable to parse entity %q", word)
		}
		out = append(out, gpu)
	}
	return out, nil
}

// head is how dcgmi heads a field's column.
type head struct {
	tag, short, unit string
	width            int
}

//go:embed columns.csv
var table string

var heads = sync.OnceValue(func() map[int]head {
	out := map[int]head{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimRight(line, "\n"), ",")
		if strings.HasPrefix(line, "#") || len(cells) != 5 {
			continue
		}
		id, _ := strconv.Atoi(cells[0])
		width, _ := strconv.Atoi(cells[4])
		out[id] = head{cells[1], cells[2], cells[3], width}
	}
	return out
})

// value is a field of a reading as dcgmi prints it; N/A for a blank.
func value(id int, reading telemetry.Reading) string {
	text, ok := telemetry.Value(id, reading)
	if !ok {
		return "N/A"
	}
	if whole, rest, ok := strings.Cut(text, "."); ok && len(rest) == 6 {
		if number, err := strconv.ParseFloat(whole+"."+rest, 64); err == nil {
			return strconv.FormatFloat(number, 'f', 3, 64)
		}
	}
	return text
}

func numeric(id int, reading telemetry.Reading) float64 {
	text, _ := telemetry.Value(id, reading)
	number, _ := strconv.ParseFloat(text, 64)
	return number
}
