package exporter

import (
	"slices"
	"strconv"
	"time"

	"gpustack.local/simulated/cluster/internal/counters"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// event is an Xid, or a clock event, of one GPU (by its own UUID).
type event struct {
	uuid string
	code int
	at   time.Time
}

// windows counts what the exporter counts by itself, since it started or read its counter file again.
type windows struct {
	xids, clocks           []event
	xidTotals, clockTotals map[event]int // at is zero
	clockNow               map[string]int
}

func newWindows() *windows {
	return &windows{xidTotals: map[event]int{}, clockTotals: map[event]int{}, clockNow: map[string]int{}}
}

// xid notes one Xid. Code 0 is none: the lab healed the GPU, and what was in its window is forgotten.
func (w *windows) xid(uuid string, code int, at time.Time) {
	if code == 0 {
		w.xids = slices.DeleteFunc(w.xids, func(one event) bool { return one.uuid == uuid })
		return
	}
	w.xids = append(w.xids, event{uuid, code, at})
	w.xidTotals[event{uuid: uuid, code: code}]++
}

// clock notes one sample of the bit mask: every bit counts in the window, a bit that was not set before in the total.
func (w *windows) clock(uuid string, mask int, at time.Time) {
	for bit := range clockEvents {
		if mask&bit == 0 {
			continue
		}
		w.clocks = append(w.clocks, event{uuid, bit, at})
		if w.clockNow[uuid]&bit == 0 {
			w.clockTotals[event{uuid: uuid, code: bit}]++
		}
	}
	w.clockNow[uuid] = mask
}

// forget drops what is older than the windows.
func (w *windows) forget(now time.Time, options Options) {
	w.xids = since(w.xids, now.Add(-options.XidWindow))
	w.clocks = since(w.clocks, now.Add(-options.ClockWindow))
}

func since(events []event, start time.Time) []event {
	var out []event
	for _, one := range events {
		if !one.at.Before(start) {
			out = append(out, one)
		}
	}
	return out
}

func count(events []event, uuid string) map[int]int {
	out := map[int]int{}
	for _, one := range events {
		if one.uuid == uuid {
			out[one.code]++
		}
	}
	return out
}

func ofGPU(totals map[event]int, uuid string) map[int]int {
	out := map[int]int{}
	for one, many := range totals {
		if one.uuid == uuid {
			out[one.code] = many
		}
	}
	return out
}

// own adds the samples of one of the exporter's own counters. A count in a window is 0 without its label where nothing
// happened; a total has no series before its first event. P2P status is known and never emitted.
func (w *windows) own(out *Row, counter counters.Counter, reading telemetry.Reading, options Options) {
	uuid := reading.GPU.UUID
	switch counter.Name {
	case counters.XidErrorsCount:
		labels := with(nil, "window_size_in_ms", milliseconds(options.XidWindow))
		window(out, counter, count(w.xids, uuid), labels, "xid", strconv.Itoa)
	case counters.ClockEventsCount:
		labels := with(nil, "window_size_in_ms", milliseconds(options.ClockWindow))
		window(out, counter, count(w.clocks, uuid), labels, "clock_event", clockEvent)
	case counters.XidErrorsTotal:
		series(out, counter, ofGPU(w.xidTotals, uuid), nil, "xid", strconv.Itoa)
	case counters.ClockEventsTotal:
		series(out, counter, ofGPU(w.clockTotals, uuid), nil, "clock_event", clockEvent)
	case counters.GPUHealthStatus:
		for _, watch := range watches {
			status, code := health(watch, reading)
			out.add(counter, status, map[string]string{"health_watch": watch, "health_error_code": code})
		}
	}
}

func window(out *Row, counter counters.Counter, many map[int]int, labels map[string]string, name string, text func(int) string) {
	if len(many) == 0 {
		out.add(counter, 0, labels)
	}
	series(out, counter, many, labels, name, text)
}

func series(out *Row, counter counters.Counter, many map[int]int, labels map[string]string, name string, text func(int) string) {
	for _, code := range ordered(many) {
		out.add(counter, many[code], with(labels, name, text(code)))
	}
}

func milliseconds(length time.Duration) string { return strconv.FormatInt(length.Milliseconds(), 10) }
