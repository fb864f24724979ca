package dcgm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// discovery follows dcgmi/Query.cpp, DisplayDiscoveredDevices and HelperDisplayDiscoveredCpus.
func (e *Engine) discovery(arguments []string, to reply) (int, error) {
	given, err := parse(arguments, "l:list a:all v:verbose i:info= g:group= gpuid= c:compute-hierarchy")
	if err != nil {
		return 0, err
	}
	if !given.has("list") {
		return 0, fmt.Errorf("One of the arguments is required")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var found document
	readings := e.readings(time.Now())
	for _, reading := range readings {
		gpu := found.body.at(fmt.Sprint(reading.GPU.Index))
		gpu.at("GPU ID").is(reading.GPU.Index)
		about := gpu.at("Device Information")
		about.more("Name: " + reading.GPU.Name)
		about.more("PCI Bus ID: " + value(57, reading))
		about.more("Device UUID: " + reading.GPU.UUID)
	}
	kind := "Active"
	if given.has("all") {
		kind = "All"
	}
	to.print("%d GPU%s found (%s).\n", len(readings), plural(len(readings), "s"), kind)
	to.print("%s", found.asColumns(true, column{8, "GPU ID"}, column{70, "Device Information"}))
	to.print("0 NvSwitches found.\n%s", (&document{}).asColumns(false, column{11, "Switch ID"}))
	to.print("0 ConnectX found.\n%s", (&document{}).asColumns(false, column{10, "ConnectX"}))
	to.print("0 CPUs found.\n%s", (&document{}).asColumns(true, column{8, "CPU ID"}, column{70, "Device Information"}))
	return stOK, nil
}

func plural(count int, ending string) string {
	if count == 1 {
		return ""
	}
	return ending
}

// group follows dcgmi/Group.cpp.
func (e *Engine) group(arguments []string, to reply) (int, error) {
	known := "l:list i:info default defaultnvswitches g:group= c:create= d:delete= a:add= r:remove= j:json"
	given, id, err := parseGroup(arguments, known)
	if err != nil {
		return 0, err
	}
	doomed, err := given.number("delete", 0)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case given.has("list"):
		return e.listGroups(given.has("json"), to), nil
	case given.has("create"):
		return e.createGroup(given, to), nil
	case given.has("delete"):
		if _, ok := e.groups[doomed]; !ok {
			to.print("Error: Cannot destroy group %d. Return: %s.\n", doomed, notFound(stNotConfigured))
			return stNotConfigured, nil
		}
		delete(e.groups, doomed)
		to.print("Successfully removed group %d\n", doomed)
		return stOK, nil
	case !given.has("group"):
		return 0, fmt.Errorf("One of the arguments is required")
	case given.has("info"):
		return e.describeGroup(id, given.has("json"), to), nil
	case given.has("add"), given.has("remove"):
		return e.changeGroup(id, given, to), nil
	}
	return 0, fmt.Errorf("No action has been specified for the group")
}

func (e *Engine) listGroups(asJSON bool, to reply) int {
	ids := append([]int{0, 1}, slices.Sorted(maps.Keys(e.groups))...)
	found := document{header: []string{"GROUPS", fmt.Sprintf("%d groups found.", len(ids))}}
	for _, id := range ids {
		e.fill(found.body.at("Groups", fmt.Sprint(id)), id)
	}
	show(&found, asJSON, to)
	return stOK
}

func (e *Engine) fill(n *node, id int) int {
	members, code := e.members(id, time.Now())
	if id == 1 {
		members, code = group{name: "DCGM_ALL_SUPPORTED_NVSWITCHES"}, stOK
	}
	var names []string
	for _, gpu := range members.gpus {
		names = append(names, fmt.Sprintf("GPU %d", gpu))
	}
	if len(names) == 0 {
		names = []string{"None"}
	}
	n.at("Group ID").is(id)
	n.at("Group Name").is(members.name)
	n.at("Entities").is(strings.Join(names, ", "))
	return code
}

func (e *Engine) describeGroup(id int, asJSON bool, to reply) int {
	found := document{header: []string{"GROUP INFO"}}
	if code := e.fill(found.body.at(fmt.Sprint(id)), id); code != stOK {
		to.print("Error: Unable to retrieve information about group %d. Return: %s.\n", id, notFound(code))
		return code
	}
	show(&found, asJSON, to)
	return stOK
}

func show(found *document, asJSON bool, to reply) {
	if asJSON {
		to.print("%s", found.asJSON())
	} else {
		to.print("%s", found.asTree(20, 60))
	}
}

func (e *Engine) createGroup(given options, to reply) int {
	made := &group{name: given["create"]}
	if given.has("default") {
		all, _ := e.members(0, time.Now())
		made.gpus = all.gpus
	}
	id := e.next
	e.next++
	e.groups[id] = made
	to.print("Successfully created group \"%s\" with a group ID of %d\n", made.name, id)
	if given["add"] != "" && !given.has("default") {
		return e.changeGroup(id, given, to)
	}
	return stOK
}

func (e *Engine) changeGroup(id int, given options, to reply) int {
	text, verb, done, where, why := given["add"], "add", "Add to", "into", "already in the group"
	if given.has("remove") {
		text, verb, done, where, why = given["remove"], "remove", "Remove from", "in", "not part of the group"
	}
	gpus, err := e.entities(text, time.Now())
	if err != nil {
		to.print("Error: parsing for GPUs failed. Error: %s\n", err)
		return stBadParam
	}
	for i, gpu := range gpus {
		members, ok := e.groups[id]
		code := stOK
		switch at := -1; {
		case !ok:
			code = stNotConfigured
		default:
			at = slices.Index(members.gpus, gpu)
			switch {
			case (at < 0) == (verb == "remove"):
				code = stBadParam
			case verb == "add":
				members.gpus = append(members.gpus, gpu)
			default:
				members.gpus = slices.Delete(members.gpus, at, at+1)
			}
		}
		if code == stOK {
			continue
		}
		reason := notFound(code)
		if code == stBadParam {
			reason += ".\nThe GPU was not found or is " + why
		}
		partly := ""
		if i > 0 {
			partly = "Operation partially successful."
		}
		to.print("%s\nError: Unable to perform %s of GPU %d %s group %d. Return: %s.\n", partly, verb, gpu, where, id, reason)
		return code
	}
	to.print("%s group operation successful.\n", done)
	return stOK
}
