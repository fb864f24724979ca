package exporter

import (
	"maps"
	"strconv"
	"time"

	"gpustack.local/simulated/cluster/internal/counters"
	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// Row is what the exporter knows of one GPU at one moment.
type Row struct {
	GPU      int
	UUID     string
	Bus      string
	Model    string
	Labels   map[string]string // the label rows of the counter file
	Samples  []Sample
	taken    time.Time
	delaySet time.Duration
}

// Sample is one series of the GPU. Labels go before the attributes; the pod's are attributes too.
type Sample struct {
	Counter    counters.Counter
	Value      string
	Labels     map[string]string
	Attributes map[string]string
}

// row reads all counters of one GPU.
func row(list []counters.Counter, reading telemetry.Reading, now time.Time) Row {
	gpu := reading.GPU
	out := Row{
		GPU: gpu.Index, UUID: telemetry.UUID(gpu), Bus: telemetry.BusID(gpu.Bus), Model: gpu.Name,
		Labels: map[string]string{}, taken: now,
	}
	if seconds, ok := gpu.Number("exporter_delay"); ok {
		out.delaySet = time.Duration(seconds * float64(time.Second))
	}
	for _, counter := range list {
		value, ok := telemetry.Value(counter.ID, reading)
		switch {
		case !ok:
			continue
		case counter.IsLabel():
			out.Labels[counter.Name] = value
		default:
			sample := Sample{Counter: counter, Value: value}
			if counter.ID == xidErrors {
				sample.Attributes = map[string]string{"err_code": value, "err_msg": xidText(reading.Xid)}
			}
			out.Samples = append(out.Samples, sample)
		}
	}
	return out
}

// xidErrors is the id of DCGM_FI_DEV_XID_ERRORS.
const xidErrors = 230

// add appends a sample of the exporter's own.
func (r *Row) add(counter counters.Counter, value int, labels map[string]string) {
	r.Samples = append(r.Samples, Sample{Counter: counter, Value: strconv.Itoa(value), Labels: labels})
}

// with is the labels and one more.
func with(labels map[string]string, name, value string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[name] = value
	return out
}

// here says whether DCGM would list the GPU: it is on the bus, and no test silences it.
func here(gpu gpustate.GPU) bool {
	silent, _ := gpu.Number("exporter_silent")
	return !gpu.Lost() && silent == 0
}
