package dcgm

// Returns of DCGM. dcgmi ends with the number itself, of which a shell sees the last eight bits: -5 is 251.
// Source: NVIDIA/DCGM 4.6.0, dcgmlib/dcgm_structs.h (dcgmReturn_t), dcgmlib/src/dcgm_errors.c (errorString),
// dcgmi/main_dcgmi.cpp.
const (
	stOK            = 0
	stBadParam      = -1
	stException     = -2 // what main_dcgmi.cpp returns for a command line that cannot be parsed
	stGeneric       = -3
	stNotConfigured = -5
	stNotSupported  = -6
	stVersion       = -12
	stNoData        = -14
	stNoConnection  = -21
	stDuplicate     = -26
	stNvvs          = -30
	stUnsupported   = -36
	stIsolate       = -51
)

var words = map[int]string{
	stOK:            "Success",
	stBadParam:      "Bad parameter passed to function",
	stNotConfigured: "Setting not configured",
	stNoData:        "No data is available",
	stNoConnection:  "Host engine connection invalid/disconnected",
	stDuplicate:     "Duplicate Key passed to function",
	stNvvs:          "DCGM GPU Diagnostic returned an error",
	stUnsupported:   "Profiling is not supported for this group of GPUs or GPU",
}

// notFound is the wording of most subsystems: a group that is not there is "not configured" to the engine.
func notFound(code int) string {
	if code == stNotConfigured {
		return "The Group is not found"
	}
	return words[code]
}
