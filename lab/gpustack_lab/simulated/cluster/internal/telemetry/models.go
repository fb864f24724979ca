package telemetry

import (
	"strings"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// Model is what the state file does not say of a GPU because every GPU of its kind has it. Watts, degrees Celsius, MHz,
// megabytes; figures as in the makers' data sheets, rounded: nothing of the product may depend on them.
type Model struct {
	part                          string // of the name, the longest that fits decides
	Limit, Idle                   float64
	MaxOp, Slowdown, Shutdown     float64
	SM, Memory                    float64 // highest clocks
	Generation                    int     // compute capability's first number, 8 twice: Ampere; Ada is 89
	PCIe                          float64 // generation of the link
	Links                         int     // NVLinks
	HBM, ECC, Profiling, Fan, Enc bool
}

// Compute capability as one number, so that Ada (8.9) can be told from Ampere (8.0, 8.6).
const (
	turing    = 75
	ampere    = 80
	ada       = 89
	hopper    = 90
	blackwell = 100
)

var models = []Model{
	{"T4", 70, 10, 85, 93, 96, 1590, 5001, turing, 3, 0, false, true, true, false, true},
	{"A10", 150, 16, 88, 95, 98, 1695, 6251, ampere, 4, 0, false, true, true, false, true},
	{"A100", 400, 52, 85, 92, 95, 1410, 1593, ampere, 4, 12, true, true, true, false, false},
	{"A30", 165, 28, 85, 92, 95, 1440, 1215, ampere, 4, 4, true, true, true, false, false},
	{"RTX A6000", 300, 22, 93, 95, 98, 2100, 8001, ampere, 4, 1, false, true, true, true, true},
	{"L4", 72, 16, 85, 93, 96, 2040, 6251, ada, 4, 0, false, true, true, false, true},
	{"L40S", 350, 35, 87, 93, 96, 2520, 9001, ada, 4, 0, false, true, true, false, true},
	{"GeForce", 450, 20, 84, 90, 95, 2520, 10501, ada, 4, 0, false, false, false, true, true},
	{"H100", 700, 71, 87, 91, 94, 1980, 2619, hopper, 5, 18, true, true, true, false, false},
	{"H100 PCIe", 350, 48, 87, 91, 94, 1755, 1593, hopper, 5, 0, true, true, true, false, false},
	{"H200", 700, 76, 87, 91, 94, 1980, 3201, hopper, 5, 18, true, true, true, false, false},
	{"B200", 1000, 140, 87, 91, 94, 1965, 3996, blackwell, 6, 18, true, true, true, false, false},
}

// ModelFor is the GPU's model with what the state file says of its silicon: maxlimit, idle, smmax, memmax, maxop,
// slowdown, pcie_gen.
func ModelFor(gpu gpustate.GPU) Model {
	model := ModelOf(gpu.Name)
	if slowdown, ok := gpu.Number("slowdown"); ok {
		model.Shutdown += slowdown - model.Slowdown
	}
	for key, at := range map[string]*float64{
		"maxlimit": &model.Limit, "idle": &model.Idle, "smmax": &model.SM, "memmax": &model.Memory,
		"maxop": &model.MaxOp, "slowdown": &model.Slowdown, "pcie_gen": &model.PCIe,
	} {
		if value, ok := gpu.Number(key); ok {
			*at = value
		}
	}
	return model
}

// ModelOf finds the model by the longest part of the name; a name that nobody knows is taken for an H100.
func ModelOf(name string) Model {
	var best Model
	for _, model := range models {
		if strings.Contains(name, model.part) && len(model.part) > len(best.part) {
			best = model
		}
	}
	if best.part == "" && name != "H100" {
		return ModelOf("H100")
	}
	return best
}
