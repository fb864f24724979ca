package dcgm

import (
	"fmt"
	"time"

	"gpustack.local/simulated/cluster/internal/telemetry"
)

// systems of health, with the letters of --set. Source: dcgmlib/dcgm_structs.h (dcgmHealthSystems_t),
// dcgmi/CommandLineParser.cpp (ProcessHealthCommandLine), dcgmi/Health.cpp (its names).
var systems = []struct {
	bit     int
	letters string
	name    string
}{
	{0x1, "pa", "PCIe"}, {0x2, "na", "NVLINK"}, {0x10, "ma", "Memory"}, {0x20, "", "SM"}, {0x40, "ia", "InfoROM"},
	{0x80, "ta", "Thermal"}, {0x100, "ta", "Power"}, {0x200, "da", "Driver"}, {0x400, "a", "NvSwitch NF"},
	{0x800, "a", "NvSwitch F"}, {0x1000, "xa", "ConnectX"},
}

// health follows dcgmi/Health.cpp. The line before the JSON of --fetch is dcgmi's.
func (e *Engine) health(arguments []string, to reply) (int, error) {
	given, id, err := parseGroup(arguments, "clear f:fetch c:check s:set= g:group= j:json m:max-keep-age= u:update-interval=")
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	members, code := e.members(id, time.Now())
	refused := func(what string) (int, error) {
		to.print("Error: Unable to %s health watches. Return: %s\n", what, notFound(code))
		return stGeneric, nil
	}
	switch {
	case given.has("check"):
		if code != stOK {
			return refused("check")
		}
		if e.watches[id] == 0 {
			to.print("Error: Health watches not enabled. Please enable watches. \n")
			return stGeneric, nil
		}
		found := e.checked(e.watches[id], members.gpus)
		if given.has("json") {
			to.print("%s", found.asJSON())
		} else {
			to.print("%s", found.asTree(28, 60))
		}
	case given.has("fetch"):
		if code != stOK {
			return refused("get")
		}
		var found document
		for _, system := range systems {
			found.body.at(system.name).is(map[bool]string{true: "On", false: "Off"}[e.watches[id]&system.bit != 0])
		}
		to.print("Health monitor systems report\n")
		if given.has("json") {
			to.print("%s", found.asJSON())
		} else {
			to.print("%s", found.asTree(18, 70))
		}
	case given.has("set"), given.has("clear"):
		if code != stOK {
			return refused("set")
		}
		bits := 0
		for _, letter := range given["set"] {
			for _, system := range systems {
				for _, known := range system.letters {
					if known == letter {
						bits |= system.bit
					}
				}
			}
		}
		e.watches[id] = bits
		to.print("Health monitor systems set successfully.\n")
	default:
		return 0, fmt.Errorf("One of the arguments is required")
	}
	return stOK, nil
}

// incident is what a health check or a diagnostic finds. `code`, `category` and `severity` are DCGM's.
// Source: dcgmlib/dcgm_errors.h and dcgmlib/src/dcgm_errors.c, of which the simulation has these.
type incident struct {
	bit                      int
	system, text             string
	code, category, severity int
	failure                  bool
}

func incidents(reading telemetry.Reading) []incident {
	gpu := reading.GPU.Index
	var out []incident
	if dbe := numeric(311, reading); dbe > 0 {
		text := fmt.Sprintf("Detected %.0f volatile double-bit ECC error(s) in GPU %d. Drain the GPU and reset it or reboot the node.", dbe, gpu)
		out = append(out, incident{0x10, "Memory system", text, 4, 10, 2, true})
	}
	if numeric(395, reading) > 0 {
		text := fmt.Sprintf("GPU %d had uncorrectable memory errors and row remapping failed.", gpu)
		out = append(out, incident{0x10, "Memory system", text, 80, 10, 6, true})
	}
	if numeric(396, reading) > 0 {
		text := fmt.Sprintf("GPU %d had memory errors and row remappings are pending", gpu)
		out = append(out, incident{0x10, "Memory system", text, 85, 10, 6, true})
	}
	if reading.Xid != 0 {
		text := fmt.Sprintf("Detected XID %d for GPU %d Please consult the documentation for details of this XID.", reading.Xid, gpu)
		out = append(out, incident{0x200, "Driver", text, 101, 5, 4, true})
	}
	if reading.Slowed(telemetry.HWThermal | telemetry.SWThermal) {
		text := fmt.Sprintf("Detected clocks event due to thermal violation in GPU %d.", gpu)
		out = append(out, incident{0x80, "Thermal system", text, 10, 9, 1, false})
	}
	if reading.Slowed(telemetry.PowerCap | telemetry.PowerBrake) {
		text := fmt.Sprintf("Detected clocks event due to power violation in GPU %d. Monitor the power conditions. This GPU can still perform workload.", gpu)
		out = append(out, incident{0x100, "Power system", text, 12, 14, 1, false})
	}
	return out
}

func (e *Engine) checked(watched int, gpus []int) *document {
	found := &document{header: []string{"Health Monitor Report"}}
	overall := found.body.at("Overall Health")
	worst := "Healthy"
	for _, reading := range e.chosen(gpus, time.Now()) {
		for _, one := range incidents(reading) {
			if watched&one.bit == 0 {
				continue
			}
			health := map[bool]string{true: "Failure", false: "Warning"}[one.failure]
			gpu := found.body.at("GPU", fmt.Sprint(reading.GPU.Index))
			if gpu.value != "Failure" {
				gpu.is(health)
			}
			if worst != "Failure" {
				worst = health
			}
			system := gpu.at("Errors", one.system)
			if system.value != "Failure" {
				system.is(health)
			}
			system.overflow = append(system.overflow, wrapped(one.text)...)
		}
	}
	overall.is(worst)
	return found
}

// wrapped breaks a message at words, as AddErrorMessage does for columns of 54.
func wrapped(text string) []string {
	const width = 54
	var out []string
	for len(text) > width {
		at := width
		for at > 0 && text[at] != ' ' {
			at--
		}
		if at == 0 {
			at = width
		}
		out, text = append(out, text[:at]), text[min(at+1, len(text)):]
	}
	return append(out, text)
}
