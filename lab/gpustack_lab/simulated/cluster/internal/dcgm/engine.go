// Package dcgm is SIMULATED: what nv-hostengine and dcgmi of DCGM 4.6.0 do with the GPUs of the lab's state file.
// Never compared with a live dcgmi: wordings, JSON keys, exit codes and order are from its source, NVIDIA/DCGM v4.6.0,
// and each file names the one that it follows.
package dcgm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// Engine keeps what dies with nv-hostengine.
type Engine struct {
	paths gpustate.Paths
	tail  *gpustate.Tail
	meter *telemetry.Meter

	mu       sync.Mutex
	groups   map[int]*group
	next     int
	policies map[int]policy // by GPU
	targets  map[int]map[string]string
	watches  map[int]int // systems of health by group
	watching bool        // job stats need watches: stats -e
	jobs     map[string]*job
	paused   bool
	xids     map[int]int // last code by GPU
	heard    []gpustate.Xid
	listen   map[chan event]struct{}
}

// New starts to listen for events now.
func New(paths gpustate.Paths) *Engine {
	e := &Engine{
		paths: paths, tail: gpustate.NewTail(paths.Events), meter: telemetry.NewMeter(),
		groups: map[int]*group{}, next: 2, policies: map[int]policy{}, targets: map[int]map[string]string{},
		watches: map[int]int{}, jobs: map[string]*job{}, xids: map[int]int{}, listen: map[chan event]struct{}{},
	}
	return e
}

// Watch reads the state and its events each second, as the engine samples what is watched.
func (e *Engine) Watch(ctx context.Context) {
	for ticker := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			e.Sample(now)
		}
	}
}

// Sample takes one look.
func (e *Engine) Sample(now time.Time) {
	found, err := e.tail.New()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		for _, xid := range found {
			e.heard = append(e.heard, xid)
			e.xids[xid.Minor] = xid.Code
		}
	}
	readings := e.readings(now)
	for _, job := range e.jobs {
		job.sample(readings, found, now)
	}
	e.tell(readings, found, now)
}

// readings are those of the GPUs that answer, by index. The caller holds the lock.
func (e *Engine) readings(now time.Time) []telemetry.Reading {
	state, err := gpustate.Read(e.paths.State)
	if err != nil {
		return nil
	}
	var out []telemetry.Reading
	for _, gpu := range gpustate.Visible(state.GPUs, e.paths.Dev) {
		if gpu.Lost() {
			continue
		}
		reading := telemetry.Reading{Driver: state.Driver, CUDA: state.CUDA, GPU: gpu, Model: telemetry.ModelFor(gpu)}
		if last, ok := e.xids[gpu.Minor]; ok {
			reading.Xid = last
		} else if last, ok := gpu.Number("xid"); ok {
			reading.Xid = int(last)
		}
		reading.Total = e.meter.Advance(reading, now)
		out = append(out, reading)
	}
	return out
}

// Serve answers one command line for each connection.
func (e *Engine) Serve(listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go e.answer(connection)
	}
}

func (e *Engine) answer(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return // a probe of the port
	}
	var arguments []string
	if err := json.Unmarshal(line, &arguments); err != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		reader.ReadByte()
	}()
	answer := reply{json.NewEncoder(connection), gone}
	code := e.Run(arguments, answer)
	answer.to.Encode(frame{Done: true, Code: code})
}

// Run does one command line. Source: dcgmi/CommandLineParser.cpp, ProcessCommandLine.
func (e *Engine) Run(arguments []string, to reply) int {
	if len(arguments) == 0 {
		to.fail("Error: One of the arguments is required.\n")
		return stException
	}
	subsystems := map[string]func([]string, reply) (int, error){
		"discovery": e.discovery, "group": e.group, "policy": e.policy, "config": e.config, "health": e.health,
		"stats": e.stats, "diag": e.diag, "profile": e.profile, "dmon": e.dmon, "modules": e.modules,
	}
	switch arguments[0] {
	case "--version":
		to.print("%s", versionLine)
		return stOK
	case "-v", "--vv":
		to.print("\nLocal build info:\n%s\nHostengine build info:\n%s", buildInfo, buildInfo)
		return stOK
	}
	run, ok := subsystems[arguments[0]]
	if !ok {
		to.print("ERROR: Invalid subsystem.\n\n")
		return stBadParam
	}
	e.Sample(time.Now())
	code, err := run(arguments[1:], to)
	if err != nil {
		to.fail("Error: %s.\nAn error occurred trying to parse the command line.\n", err)
		return stException
	}
	return code
}
