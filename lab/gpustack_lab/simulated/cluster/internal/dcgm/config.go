package dcgm

import (
	"fmt"
	"strings"
	"time"
)

var computeModes = []string{"Unrestricted", "Prohibited", "E. Process"}

// config follows dcgmi/Config.cpp, RunGetConfig and RunSetConfig. What is set is the target, and the current value too:
// the simulated GPUs themselves do not change.
func (e *Engine) config(arguments []string, to reply) (int, error) {
	known := "set get enforce g:group= e:eccmode= s:syncboost= a:appclocks= P:powerlimit= c:compmode= v:verbose j:json"
	given, id, err := parseGroup(arguments, known)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case given.has("get"):
		return e.showConfig(id, given, to), nil
	case given.has("set"):
		return e.setConfig(id, given, to)
	case given.has("enforce"):
		if _, code := e.members(id, time.Now()); code != stOK {
			to.print("Error: Unable to get group information. Return: %s\n", notFound(code))
			return stGeneric, nil
		}
		to.print("Configuration successfully enforced.\n")
		return stOK, nil
	}
	return 0, fmt.Errorf("One of the arguments is required")
}

// rows of the table, in its order.
var settings = []string{
	"Compute Mode", "ECC Mode", "Sync Boost", "Memory Application Clock", "SM Application Clock", "Power Limit",
	"Power Profile",
}

func (e *Engine) showConfig(id int, given options, to reply) int {
	now := time.Now()
	members, code := e.members(id, now)
	if code != stOK {
		to.print("Error: Unable to get group information. Return: %s\n", notFound(code))
		return stGeneric
	}
	for _, reading := range e.chosen(members.gpus, now) {
		gpu := reading.GPU.Index
		found := document{header: []string{members.name, fmt.Sprintf("Group of %d GPUs", len(members.gpus))}}
		if given.has("verbose") {
			found.header = []string{fmt.Sprintf("GPU ID: %d", gpu), reading.GPU.Name}
		}
		current := map[string]string{
			"Compute Mode": "Unrestricted", "ECC Mode": onOff(numeric(300, reading)), "Sync Boost": "Disabled",
			"Memory Application Clock": value(114, reading), "SM Application Clock": value(113, reading),
			"Power Limit": fmt.Sprintf("%.0f", numeric(160, reading)), "Power Profile": "Not Specified",
		}
		for _, key := range settings {
			target, ok := e.targets[gpu][key]
			if !ok {
				target = "Not Specified"
			} else {
				current[key] = target
			}
			row := found.body.at(key)
			row.at("Field").is(key)
			row.at("Target").is(target)
			row.at("Current").is(current[key])
		}
		if given.has("json") {
			to.print("%s", found.asJSON())
		} else {
			to.print("%s", found.asColumns(false, column{30, "Field"}, column{30, "Target"}, column{30, "Current"}))
		}
		if !given.has("verbose") {
			break
		}
	}
	if !given.has("verbose") {
		to.print("**** Non-homogenous settings across group. Use with –v flag to see details.\n")
	}
	return stOK
}

func onOff(number float64) string {
	if number != 0 {
		return "Enabled"
	}
	return "Disabled"
}

func (e *Engine) setConfig(id int, given options, to reply) (int, error) {
	wanted := map[string]string{}
	for option, key := range map[string]string{"eccmode": "ECC Mode", "syncboost": "Sync Boost"} {
		if given.has(option) {
			number, err := given.number(option, 0)
			if err != nil || number > 1 {
				return 0, fmt.Errorf("Value must be 0 or 1 for arg %s", option)
			}
			wanted[key] = onOff(float64(number))
		}
	}
	if given.has("powerlimit") {
		watts, err := given.number("powerlimit", 0)
		if err != nil {
			return 0, err
		}
		wanted["Power Limit"] = fmt.Sprint(watts)
	}
	if given.has("compmode") {
		mode, err := given.number("compmode", 0)
		if err != nil || mode >= len(computeModes) {
			return 0, fmt.Errorf("Compute mode must be 0, 1 or 2 for arg compmode")
		}
		wanted["Compute Mode"] = computeModes[mode]
	}
	if clocks := given["appclocks"]; clocks != "" {
		memory, sm, ok := strings.Cut(clocks, ",")
		if !ok {
			return 0, fmt.Errorf("Must use memory,proc clocks (csv) for arg appclocks")
		}
		wanted["Memory Application Clock"], wanted["SM Application Clock"] = memory, sm
	}
	members, code := e.members(id, time.Now())
	if code != stOK {
		to.print("Error: Unable to set some of the configuration properties. Return: %s\n", notFound(code))
		return code, nil
	}
	for _, gpu := range members.gpus {
		if e.targets[gpu] == nil {
			e.targets[gpu] = map[string]string{}
		}
		for key, text := range wanted {
			e.targets[gpu][key] = text
		}
	}
	to.print("Configuration successfully set.\n")
	return stOK, nil
}
