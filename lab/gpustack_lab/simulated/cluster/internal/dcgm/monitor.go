package dcgm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpustack.local/simulated/cluster/internal/fields"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// dmon follows dcgmi/DeviceMonitor.cpp: field groups are not simulated.
func (e *Engine) dmon(arguments []string, to reply) (int, error) {
	given, err := parse(arguments, "i:entity-id= g:group-id= f:field-group-id= e:field-id= d:delay= c:count= l:list")
	if err != nil {
		return 0, err
	}
	if given.has("list") {
		return listFields(to), nil
	}
	delay, err := given.number("delay", 1000)
	if err != nil || delay < 1 {
		return 0, fmt.Errorf("Invalid value for arg delay")
	}
	count, err := given.number("count", 0)
	if err != nil {
		return 0, err
	}
	ids := []int{}
	for word := range strings.SplitSeq(given["field-id"], ",") {
		id, err := strconv.Atoi(strings.TrimSpace(word))
		if named, ok := fields.ID(word); ok {
			id, err = named, nil
		}
		if err != nil || !slices.Contains(known(), id) {
			to.print("Error: Unknown field ID: %s\n", word)
			return stBadParam, nil
		}
		ids = append(ids, id)
	}
	gpus, code, err := e.watched(given, to)
	if err != nil || code != stOK {
		return code, err
	}
	widths := []int{14 + 2}
	top, units := fmt.Sprintf("%-16s", "#Entity"), fmt.Sprintf("%-16s", "ID")
	for _, id := range ids {
		head := heads()[id]
		width := head.width + 6
		widths = append(widths, width)
		top += fmt.Sprintf("%-*s", width+2, short(head.short, width))
		units += fmt.Sprintf("%-*s", width+2, short(head.unit, width))
	}
	to.print("%s\n%s\n", top, units)
	for round := 1; ; round++ {
		e.mu.Lock()
		readings := e.chosen(gpus, time.Now())
		e.mu.Unlock()
		if len(readings) == 0 {
			to.print("No data returned from the hostengine.\n")
			return stNoData, nil
		}
		for _, reading := range readings {
			row := fmt.Sprintf("%-16s", fmt.Sprintf("GPU %d", reading.GPU.Index))
			for i, id := range ids {
				row += fmt.Sprintf("%-*s", widths[i+1]+2, short(value(id, reading), widths[i+1]))
			}
			to.print("%s\n", row)
		}
		if round == count {
			return stOK, nil
		}
		select {
		case <-to.Gone:
			return stOK, nil
		case <-time.After(time.Duration(delay) * time.Millisecond):
		}
		if round%15 == 0 {
			to.print("%s\n%s\n", top, units)
		}
	}
}

func (e *Engine) watched(given options, to reply) ([]int, int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if text := given["entity-id"]; text != "" && text != "-1" {
		gpus, err := e.entities(text, time.Now())
		if err != nil {
			to.print("Error: %s\n", err)
			return nil, stBadParam, nil
		}
		return gpus, stOK, nil
	}
	id := 0
	if text := given["group-id"]; text != "" && text != "-1" && text != "all_gpus" {
		number, err := strconv.Atoi(text)
		if err != nil {
			to.print("Error: Expected a numerical groupId. Instead got '%s'\n", text)
			return nil, stBadParam, nil
		}
		id = number
	}
	members, code := e.members(id, time.Now())
	if code != stOK {
		to.print("Error: Unable to retrieve information about group %d. Return: %s.\n", id, notFound(code))
	}
	return members.gpus, code, nil
}

func known() []int {
	out := []int{}
	for id := range heads() {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func short(text string, width int) string {
	if len(text) <= width {
		return text
	}
	return text[:width-3] + "..."
}

func listFields(to reply) int {
	to.print("%-40s%-15s%s\n", "Long Name", "Short Name", "Field ID")
	for _, id := range known() {
		to.print("%-40s%-15s%d\n", heads()[id].tag, heads()[id].short, id)
	}
	return stOK
}

// profile follows dcgmi/DcgmiProfile.cpp. Which fields can be had at once is not simulated: all are in group A.
func (e *Engine) profile(arguments []string, to reply) (int, error) {
	given, err := parse(arguments, "j:json l:list pause resume i:entity-id= g:group-id=")
	if err != nil {
		return 0, err
	}
	switch {
	case given.has("pause"), given.has("resume"):
		e.mu.Lock()
		defer e.mu.Unlock()
		e.paused = given.has("pause")
		to.print("Successfully %sd profiling.\n", map[bool]string{true: "pause", false: "resume"}[e.paused])
		return stOK, nil
	case !given.has("list"):
		return 0, fmt.Errorf("One of the arguments is required")
	}
	gpus, code, err := e.watched(given, to)
	if err != nil || code != stOK {
		return code, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var found document
	for _, reading := range e.chosen(gpus[:min(len(gpus), 1)], time.Now()) {
		for _, id := range known() {
			if !fields.Profiling(id) || !telemetry.Profiled(id, reading) {
				continue
			}
			row := found.body.at(fmt.Sprintf("0_%d", len(found.body.order)))
			row.at("Group.Subgroup").is("A.1")
			row.at("Field ID").is(id)
			row.at("Field Tag").is(heads()[id].tag)
		}
	}
	switch {
	case len(found.body.order) == 0:
		to.print("Error: Unable to Get supported metric groups: %s.\n", words[stUnsupported])
		return stUnsupported, nil
	case given.has("json"):
		to.print("%s", found.asJSON())
	default:
		to.print("%s", found.asColumns(false, column{16, "Group.Subgroup"}, column{10, "Field ID"}, column{54, "Field Tag"}))
	}
	return stOK, nil
}

// names in the order of their ids. Source: dcgmi/Module.cpp, dcgmlib/dcgm_structs.h (dcgmModuleId_t).
var names = []string{
	"Core", "NvSwitch", "VGPU", "Introspection", "Health", "Policy", "Config", "Diag", "Profiling", "SysMon", "MnDiag",
}

// modules follows dcgmi/Module.cpp; what is loaded is not simulated but for the core and the pause of profiling.
func (e *Engine) modules(arguments []string, to reply) (int, error) {
	given, err := parse(arguments, "j:json l:list denylist=")
	if err != nil {
		return 0, err
	}
	if !given.has("list") {
		return 0, fmt.Errorf("One of the arguments is required")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	found := document{header: []string{"List Modules", "Status: Success"}}
	for id, name := range names {
		state := "Not loaded"
		switch {
		case id == 0, name == "Health" && len(e.watches) > 0, name == "Policy" && len(e.policies) > 0:
			state = "Loaded"
		case name == "Profiling" && e.paused:
			state = "Paused"
		}
		module := found.body.at(name)
		module.at("State").is(state)
		module.at("Module ID").is(id)
		module.at("Name").is(name)
	}
	if given.has("json") {
		to.print("%s", found.asJSON())
	} else {
		to.print("%s", found.asColumns(false, column{11, "Module ID"}, column{20, "Name"}, column{50, "State"}))
	}
	return stOK, nil
}
