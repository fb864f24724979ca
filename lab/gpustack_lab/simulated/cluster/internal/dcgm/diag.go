package dcgm

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// tests of the four levels, with their category and the lowest level that has them. Source: nvvs/include/PluginStrings.h,
// nvvs/src/NvidiaValidationSuite.cpp (FillTestVectors). They take no time here, and nothing runs on a GPU.
var tests = []struct {
	name, category string
	level          int
}{
	{"software", "Deployment", 1},
	{"memory", "Hardware", 2}, {"diagnostic", "Hardware", 3}, {"nvbandwidth", "Hardware", 3},
	{"pulse_test", "Hardware", 4},
	{"pcie", "Integration", 2},
	{"memory_bandwidth", "Stress", 3}, {"targeted_stress", "Stress", 3}, {"targeted_power", "Stress", 3},
	{"memtest", "Stress", 4},
}

// diag follows dcgmi/Diag.cpp: HelperJsonBuildOutput, and GetFailureResult for its exit code.
func (e *Engine) diag(arguments []string, to reply) (int, error) {
	known := "v:verbose a:abort r:run= g:group= p:parameters= c:configfile= i:entity-id= j:json fail-early " +
		"iterations= t:timeout= statsonfail statspath= debugLogFile= d:debugLevel= clocksevent-mask= n:expectedNumEntities= " +
		"check-interval= watch-frequency= ignoreErrorCodes="
	given, err := parse(arguments, known)
	if err != nil {
		return 0, err
	}
	if given.has("abort") {
		to.print("Diagnostic aborted successfully.\n")
		return stOK, nil
	}
	if !given.has("run") {
		return 0, fmt.Errorf("One of the arguments is required")
	}
	chosen, err := testsOf(given["run"])
	if err != nil {
		return 0, err
	}
	id, err := given.number("group", allGPUs)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	members, code := e.members(id, time.Now())
	if text := given["entity-id"]; text != "" && text != "*" {
		if members.gpus, err = e.entities(text, time.Now()); err != nil {
			code = stBadParam
		}
	}
	if code == stOK && len(members.gpus) == 0 {
		code = stBadParam
	}
	if code != stOK {
		message := fmt.Sprintf("Error: Unable to complete diagnostic for group %d. Return: (%d) : %s\n", id, code, words[code])
		if given.has("json") {
			to.print("%s\n", styled(map[string]any{"DCGM Diagnostic": map[string]any{"version": version, "runtime_error": message}}))
		} else {
			to.print("%s\n", message)
		}
		return code, nil
	}
	return e.diagnose(chosen, members.gpus, given.has("json"), to), nil
}

// testsOf reads --run: a level, or names of tests with commas.
func testsOf(text string) ([]int, error) {
	level := 0
	if len(text) == 1 {
		level = strings.Index("1234", text) + 1
	}
	for at, word := range []string{"quick", "short", "medium", "long", "xlong"} {
		if text == word {
			level = []int{1, 1, 2, 3, 4}[at]
		}
	}
	names := strings.Split(text, ",")
	var out []int
	for at, test := range tests {
		if test.level <= level || slices.Contains(names, test.name) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("The name of the test or the level %q is unknown for arg run", text)
	}
	return out, nil
}

func (e *Engine) diagnose(chosen, gpus []int, asJSON bool, to reply) int {
	readings := e.chosen(gpus, time.Now())
	var entities, categories []any
	code := stOK
	for _, reading := range readings {
		entities = append(entities, map[string]any{
			"entity_id": reading.GPU.Index, "serial_num": reading.GPU.Text("serial"),
			"device_id": strings.TrimPrefix(reading.GPU.Text("pciid"), "0x"),
		})
	}
	table := "Successfully ran diagnostic for group.\n"
	for _, category := range []string{"Deployment", "Hardware", "Integration", "Stress"} {
		var list []any
		for _, at := range chosen {
			if tests[at].category != category {
				continue
			}
			var results, all []any
			overall := "Pass"
			for _, reading := range readings {
				result := map[string]any{
					"entity_group_id": 1, "entity_group": "GPU", "entity_id": reading.GPU.Index, "status": "Pass",
				}
				var warnings []any
				for _, one := range incidents(reading) {
					if !found(tests[at].name, one) {
						continue
					}
					warnings = append(warnings, map[string]any{
						"warning": one.text, "error_id": one.code, "error_category": one.category,
						"error_severity": one.severity,
					})
					if code != stIsolate {
						code = stNvvs
					}
					if one.severity == 2 {
						code = stIsolate
					}
				}
				if len(warnings) > 0 {
					result["status"], result["warnings"], overall = "Fail", warnings, "Fail"
					all = append(all, warnings...)
				}
				results = append(results, result)
			}
			summary := map[string]any{"status": overall}
			if len(all) > 0 {
				summary["warnings"] = all
			}
			list = append(list, map[string]any{"name": tests[at].name, "results": results, "test_summary": summary})
			table += fmt.Sprintf("| %-25s | %-47s |\n", tests[at].name, overall)
		}
		if len(list) > 0 {
			categories = append(categories, map[string]any{"category": category, "tests": list})
		}
	}
	if !asJSON {
		to.print("%s", table) // the simulation draws no more of dcgmi's table
		return code
	}
	driver := ""
	if len(readings) > 0 {
		driver = readings[0].Driver
	}
	to.print("%s", styled(map[string]any{
		"DCGM Diagnostic": map[string]any{"test_categories": categories},
		"entity_groups":   []any{map[string]any{"entities": entities, "entity_group": "GPU", "entity_group_id": 1}},
		"metadata":        map[string]any{"version": version, "Driver Version Detected": driver},
	}))
	return code
}

// found says whether a test would meet the incident.
func found(test string, one incident) bool {
	switch one.code {
	case 4, 80, 85:
		return test == "software" || test == "memory" || test == "memtest"
	case 101:
		return test == "software"
	}
	return test == "diagnostic" || test == "targeted_stress" || test == "targeted_power"
}
