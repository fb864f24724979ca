// Package gpustate reads the simulated hardware's truth: the state file that the lab writes from outside, the events
// beside it, and the device nodes that say which GPUs this container has been given.
package gpustate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Where a container finds both files: the container toolkit mounts every gsp*.bin of the driver's version into it.
const (
	DefaultState  = "/lib/firmware/nvidia/595.91.07/gsp_ga10x.bin"
	DefaultEvents = "/lib/firmware/nvidia/595.91.07/gsp_events.bin"
	DefaultDev    = "/dev"
)

// Paths of the two files and of the folder with the device nodes.
type Paths struct{ State, Events, Dev string }

// PathsFrom takes SIMULATED_GPU_STATE, SIMULATED_GPU_EVENTS and SIMULATED_GPU_DEV where they are set.
func PathsFrom(getenv func(string) string) Paths {
	or := func(name, otherwise string) string {
		if value := getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	return Paths{
		State:  or("SIMULATED_GPU_STATE", DefaultState),
		Events: or("SIMULATED_GPU_EVENTS", DefaultEvents),
		Dev:    or("SIMULATED_GPU_DEV", DefaultDev),
	}
}

// GPU is one line of the state file. Index counts the lines from 0: it is DCGM's and NVML's index.
type GPU struct {
	Index, Minor    int
	UUID, Bus, Name string
	keys            map[string]string
}

// Number is the key's value; false where the line does not have it or it is no number.
func (g GPU) Number(key string) (float64, bool) {
	number, err := strconv.ParseFloat(g.keys[key], 64)
	return number, err == nil
}

// Text is the key's value as it stands, "" where there is none.
func (g GPU) Text(key string) string { return g.keys[key] }

// Lost says that the GPU fell off the bus.
func (g GPU) Lost() bool { return g.flag("lost") }

func (g GPU) flag(key string) bool {
	number, ok := g.Number(key)
	return ok && number != 0
}

// State is the whole file. CUDA is the driver's CUDA version times 1000.
type State struct {
	Driver string
	CUDA   int
	GPUs   []GPU
	loads  map[int]map[string]string // keys of a busy GPU, by the field that is worked for
}

// Read parses the file at path. GPUs that a process works on (see Work) have the keys of that load, too.
func Read(path string) (State, error) {
	file, err := os.Open(path)
	if err != nil {
		return State{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return State{}, err
	}
	state, err := Parse(string(text))
	if err != nil {
		return State{}, err
	}
	for i := range state.GPUs {
		field, err := work(file, state.GPUs[i])
		if err != nil {
			return State{}, err
		}
		state.GPUs[i].busy(state.loads[field])
	}
	return state, nil
}

// Parse reads the lines "driver VERSION", "cuda NUMBER", "load FIELD key=value …" and "gpu key=value …"; others are left
// aside, so that the file may grow. The lab writes the file in place, so one without a driver, without its last line's end, or with a GPU that
// lacks UUID, bus or name is an error: it is not whole yet.
func Parse(text string) (State, error) {
	var state State
	if !strings.HasSuffix(text, "\n") {
		return State{}, errors.New("the last line has no end")
	}
	for number, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "driver":
			state.Driver = words[1]
		case "cuda":
			version, err := strconv.Atoi(words[1])
			if err != nil {
				return State{}, fmt.Errorf("line %d: cuda: %w", number+1, err)
			}
			state.CUDA = version
		case "load":
			field, err := strconv.Atoi(words[1])
			if err != nil {
				return State{}, fmt.Errorf("line %d: load: %w", number+1, err)
			}
			keys, err := parseKeys(words[2:])
			if err != nil {
				return State{}, fmt.Errorf("line %d: %w", number+1, err)
			}
			if state.loads == nil {
				state.loads = map[int]map[string]string{}
			}
			state.loads[field] = keys
		case "gpu":
			gpu, err := parseGPU(words[1:], len(state.GPUs))
			if err != nil {
				return State{}, fmt.Errorf("line %d: %w", number+1, err)
			}
			state.GPUs = append(state.GPUs, gpu)
		}
	}
	if state.Driver == "" {
		return State{}, errors.New("no driver")
	}
	return state, nil
}

func parseKeys(words []string) (map[string]string, error) {
	keys := make(map[string]string, len(words))
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is no key=value", word)
		}
		keys[key] = value
	}
	return keys, nil
}

func parseGPU(words []string, index int) (GPU, error) {
	keys, err := parseKeys(words)
	if err != nil {
		return GPU{}, err
	}
	gpu := GPU{Index: index, Minor: index, keys: keys}
	gpu.UUID, gpu.Bus, gpu.Name = gpu.keys["uuid"], gpu.keys["bus"], strings.ReplaceAll(gpu.keys["name"], "_", " ")
	if gpu.UUID == "" || gpu.Bus == "" || gpu.Name == "" {
		return GPU{}, fmt.Errorf("a GPU needs uuid, bus and name")
	}
	if text, ok := gpu.keys["minor"]; ok {
		minor, err := strconv.Atoi(text)
		if err != nil || minor < 0 {
			return GPU{}, fmt.Errorf("minor=%s is no device number", text)
		}
		gpu.Minor = minor
	}
	return gpu, nil
}
