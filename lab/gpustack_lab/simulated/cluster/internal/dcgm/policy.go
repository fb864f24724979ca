package dcgm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// Conditions of a policy. Source: dcgmlib/dcgm_structs.h (dcgmPolicyCondition_t).
const (
	condDBE     = 0x1
	condPCI     = 0x2
	condPages   = 0x4
	condThermal = 0x8
	condPower   = 0x10
	condNVLink  = 0x20
	condXid     = 0x40
)

type policy struct {
	conditions            int
	pages, thermal, power int
	action, validation    int
}

// event is a violation that a listener is told.
type event struct {
	gpu  int
	text string
}

// policy follows dcgmi/Policy.cpp. The line before the JSON and the one behind it are dcgmi's.
func (e *Engine) policy(arguments []string, to reply) (int, error) {
	known := "clear get reg set= g:group= v:verbose M:maxpages= T:maxtemp= P:maxpower= e:eccerrors p:pcierrors " +
		"n:nvlinkerrors x:xiderrors j:json"
	given, id, err := parseGroup(arguments, known)
	if err != nil {
		return 0, err
	}
	switch {
	case given.has("get"):
		return e.showPolicy(id, given, to), nil
	case given.has("clear"):
		return e.setPolicy(id, policy{}, to), nil
	case given.has("set"):
		wanted, err := read(given)
		if err != nil {
			return 0, err
		}
		return e.setPolicy(id, wanted, to), nil
	case given.has("reg"):
		return e.register(id, to), nil
	}
	return 0, fmt.Errorf("One of the arguments is required")
}

func read(given options) (policy, error) {
	action, validation, ok := strings.Cut(given["set"], ",")
	first, err1 := strconv.Atoi(action)
	second, err2 := strconv.Atoi(validation)
	switch {
	case !ok:
		return policy{}, fmt.Errorf("Must use csv action,validation for arg set")
	case err1 != nil || first > 1:
		return policy{}, fmt.Errorf("The action must be 0 or 1 for arg set")
	case err2 != nil || second > 3:
		return policy{}, fmt.Errorf("The validation must be between 0 and 3 (inclusive) for arg set")
	}
	wanted := policy{action: first, validation: second}
	for name, bit := range map[string]int{"eccerrors": condDBE, "pcierrors": condPCI, "nvlinkerrors": condNVLink, "xiderrors": condXid} {
		if given.has(name) {
			wanted.conditions |= bit
		}
	}
	for name, to := range map[string]struct {
		bit int
		at  *int
	}{"maxpages": {condPages, &wanted.pages}, "maxtemp": {condThermal, &wanted.thermal}, "maxpower": {condPower, &wanted.power}} {
		if given.has(name) {
			value, err := given.number(name, 0)
			if err != nil {
				return policy{}, err
			}
			*to.at = value
			wanted.conditions |= to.bit
		}
	}
	return wanted, nil
}

func (e *Engine) setPolicy(id int, wanted policy, to reply) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	members, code := e.members(id, time.Now())
	if code != stOK {
		to.print("Error: Cannot set policy for remote node. Return: %s\nErrors for group:\n", notFound(code))
		return code
	}
	for _, gpu := range members.gpus {
		e.policies[gpu] = wanted
	}
	to.print("Policy successfully set.\n")
	return stOK
}

func (e *Engine) showPolicy(id int, given options, to reply) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	members, code := e.members(id, time.Now())
	if code != stOK {
		to.print("Error: Cannot get group info from remote node. Return: %s\n", notFound(code))
		return code
	}
	to.print("Policy information\n")
	for i, gpu := range members.gpus {
		name, verbose := members.name, given.has("verbose")
		if verbose {
			name = fmt.Sprintf("GPU ID: %d", gpu)
		} else if i > 0 {
			break
		}
		same := func(part func(policy) int) bool {
			for _, other := range members.gpus {
				if !verbose && part(e.policies[other]) != part(e.policies[gpu]) {
					return false
				}
			}
			return true
		}
		found := described(e.policies[gpu], name, same)
		if given.has("json") {
			to.print("%s", found.asJSON())
		} else {
			to.print("%s", found.asTree(30, 50))
		}
		if !verbose {
			to.print("**** Non-homogenous settings across group. Use with –v flag to see details.\n")
		}
	}
	return stOK
}

func described(p policy, name string, same func(func(policy) int) bool) *document {
	found := &document{header: []string{"Policy Information", name}}
	conditions := found.body.at("Violation conditions")
	switch {
	case !same(func(p policy) int { return p.conditions }):
		conditions.is("****")
	case p.conditions == 0:
		conditions.is("None")
	}
	for _, one := range []struct {
		bit  int
		text string
	}{
		{condDBE, "Double-bit ECC errors"}, {condPCI, "PCI errors and replays"},
		{condPages, fmt.Sprintf("Max retired pages threshold - %d", p.pages)},
		{condThermal, fmt.Sprintf("Max temperature threshold - %d", p.thermal)},
		{condPower, fmt.Sprintf("Max power threshold - %d", p.power)},
		{condNVLink, "NVLink Errors"}, {condXid, "XID error detected."},
	} {
		if p.conditions&one.bit != 0 && conditions.value != "****" {
			conditions.more(one.text)
		}
	}
	text := func(key string, part func(policy) int, words ...string) {
		if same(part) {
			found.body.at(key).is(words[part(p)])
		} else {
			found.body.at(key).is("****")
		}
	}
	text("Isolation mode", func(policy) int { return 0 }, "Manual")
	text("Action on violation", func(p policy) int { return p.action }, "None", "Reset GPU")
	text("Validation after action", func(p policy) int { return p.validation }, "None", "System Validation (Short)",
		"System Validation (Medium)", "System Validation (Long)")
	text("Validation failure action", func(policy) int { return 0 }, "None")
	return found
}

// register listens until dcgmi ends, as RegisterForPolicyUpdates does.
func (e *Engine) register(id int, to reply) int {
	told := make(chan event, 16)
	e.mu.Lock()
	members, code := e.members(id, time.Now())
	if code != stOK {
		e.mu.Unlock()
		to.print("Error: Cannot register to receive policy violations from the remote node. Return: %s\n", notFound(code))
		return code
	}
	e.listen[told] = struct{}{}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.listen, told)
		e.mu.Unlock()
	}()
	to.print("Listening for violations.\n")
	for {
		select {
		case <-to.Gone:
			return stOK
		case found := <-told:
			for _, gpu := range members.gpus {
				if gpu == found.gpu {
					to.print("%s", found.text)
				}
			}
		}
	}
}

// tell gives violations of the policies that are set to all listeners. The caller holds the lock.
func (e *Engine) tell(readings []telemetry.Reading, xids []gpustate.Xid, now time.Time) {
	for _, reading := range readings {
		p := e.policies[reading.GPU.Index]
		var texts []string
		for _, xid := range xids {
			if xid.Minor == reading.GPU.Minor && xid.Code != 0 && p.conditions&condXid != 0 {
				texts = append(texts, fmt.Sprintf("XID error %d detected.\n", xid.Code))
			}
		}
		if heat := numeric(150, reading); p.conditions&condThermal != 0 && heat > float64(p.thermal) {
			texts = append(texts, fmt.Sprintf("The maximum thermal limit has violated policy manager values.\nTemperature: %.0f\n", heat))
		}
		if power := numeric(155, reading); p.conditions&condPower != 0 && power > float64(p.power) {
			texts = append(texts, fmt.Sprintf("The maximum power limit has violated policy manager values.\nPower: %.0f\n", power))
		}
		for _, text := range texts {
			for listener := range e.listen {
				select {
				case listener <- event{reading.GPU.Index, fmt.Sprintf("Timestamp: %s\n%s", now.Format(time.ANSIC), text)}:
				default: // nobody reads
				}
			}
		}
	}
}
