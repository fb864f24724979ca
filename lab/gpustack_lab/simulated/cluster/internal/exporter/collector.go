// Package exporter collects what the counters ask for and writes it as dcgm-exporter 4.8.3 does.
package exporter

import (
	"sync"
	"time"

	"gpustack.local/simulated/cluster/internal/counters"
	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// Options of the exporter that change what it writes.
type Options struct {
	Hostname               string // "" leaves the label out
	XidWindow, ClockWindow time.Duration
	DashedModel            bool
}

// Collector reads the state at its interval and keeps the newest rows for scrapes.
type Collector struct {
	paths   gpustate.Paths
	options Options
	tail    *gpustate.Tail
	meter   *telemetry.Meter
	delays  *delays
	latched map[string]int // last Xid by UUID

	mu      sync.Mutex
	list    []counters.Counter
	windows *windows
	rows    []Row
}

// New starts to listen for events now.
func New(paths gpustate.Paths, list []counters.Counter, options Options) *Collector {
	return &Collector{
		paths: paths, options: options, list: list,
		tail: gpustate.NewTail(paths.Events), meter: telemetry.NewMeter(), delays: newDelays(),
		latched: map[string]int{}, windows: newWindows(),
	}
}

// Reload takes other counters; windows and totals of the exporter's own begin anew, the last Xids stay.
func (c *Collector) Reload(list []counters.Counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.windows = list, newWindows()
}

// Collect takes one reading of all GPUs. After an error the rows of before stay.
func (c *Collector) Collect(now time.Time) error {
	state, err := gpustate.Read(c.paths.State)
	if err != nil {
		return err
	}
	events, err := c.tail.New()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gpus := gpustate.Visible(state.GPUs, c.paths.Dev)
	c.note(gpus, events)
	c.windows.forget(now, c.options)
	c.rows = nil
	for _, gpu := range gpus {
		if !here(gpu) {
			continue
		}
		reading := c.reading(state, gpu)
		reading.Total = c.meter.Advance(reading, now)
		c.windows.clock(gpu.UUID, reading.Reasons(), now)
		newest := row(c.list, reading, now)
		for _, counter := range c.list {
			c.windows.own(&newest, counter, reading, c.options)
		}
		c.rows = append(c.rows, c.delays.pass(gpu.UUID, newest, now)...)
	}
	return nil
}

func (c *Collector) note(gpus []gpustate.GPU, events []gpustate.Xid) {
	for _, xid := range events {
		for _, gpu := range gpus {
			if gpu.Minor == xid.Minor {
				c.windows.xid(gpu.UUID, xid.Code, xid.At)
				c.latched[gpu.UUID] = xid.Code // 0: the lab healed it, as after a driver's restart
			}
		}
	}
}

func (c *Collector) reading(state gpustate.State, gpu gpustate.GPU) telemetry.Reading {
	reading := telemetry.Reading{Driver: state.Driver, CUDA: state.CUDA, GPU: gpu, Model: telemetry.ModelFor(gpu)}
	if last, ok := c.latched[gpu.UUID]; ok {
		reading.Xid = last
	} else if last, ok := gpu.Number("xid"); ok {
		reading.Xid = int(last)
	}
	return reading
}

// Enabled says whether any GPU of the state has the profiling field; all others fields are always watched.
func Enabled(paths gpustate.Paths, profiling func(id int) bool) func(id int) bool {
	state, err := gpustate.Read(paths.State)
	return func(id int) bool {
		if !profiling(id) {
			return true
		}
		if err != nil {
			return false
		}
		for _, gpu := range gpustate.Visible(state.GPUs, paths.Dev) {
			if telemetry.Profiled(id, telemetry.Reading{GPU: gpu, Model: telemetry.ModelFor(gpu)}) {
				return true
			}
		}
		return false
	}
}

// Rows are those of the last reading.
func (c *Collector) Rows() []Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows
}
