package gpuoperator

// State is one step of a reconcile: the assets of one folder.
type State struct {
	Name string
	// Enabled says whether the state's objects are wanted; else they are deleted in each reconcile.
	Enabled func(Spec) bool
	// Operand is the component whose image, env, args and resources the state's DaemonSet takes; nil without one.
	Operand func(Spec) Component
	// GPU says that the pods run under the nvidia runtime.
	GPU bool
}

func always(Spec) bool { return true }

// States in the order in which they are reconciled (state_manager.go of the real operator).
var States = []State{
	{Name: "pre-requisites", Enabled: always},
	{Name: "state-operator-metrics", Enabled: always},
	{
		Name:    "state-driver",
		Enabled: func(s Spec) bool { return On(s.Driver.Enabled, true) },
		Operand: func(s Spec) Component { return s.Driver.Component },
	},
	{
		Name:    "state-container-toolkit",
		Enabled: func(s Spec) bool { return On(s.Toolkit.Enabled, true) },
		Operand: func(s Spec) Component { return s.Toolkit.Component },
	},
	{
		Name:    "state-operator-validation",
		Enabled: always,
		Operand: func(s Spec) Component { return s.Validator.Component },
		GPU:     true,
	},
	{
		Name:    "state-device-plugin",
		Enabled: func(s Spec) bool { return On(s.DevicePlugin.Enabled, true) },
		Operand: func(s Spec) Component { return s.DevicePlugin.Component },
		GPU:     true,
	},
	{
		Name:    "state-mps-control-daemon",
		Enabled: func(s Spec) bool { return On(s.DevicePlugin.Enabled, true) },
		Operand: mpsDaemon,
		GPU:     true,
	},
	{
		Name:    "state-dcgm",
		Enabled: func(s Spec) bool { return On(s.DCGM.Enabled, false) },
		Operand: func(s Spec) Component { return s.DCGM },
		GPU:     true,
	},
	{
		Name:    "state-dcgm-exporter",
		Enabled: func(s Spec) bool { return On(s.DCGMExporter.Enabled, true) },
		Operand: func(s Spec) Component { return s.DCGMExporter.Component },
		GPU:     true,
	},
	{
		Name:    "gpu-feature-discovery",
		Enabled: func(s Spec) bool { return On(s.GFD.Enabled, true) },
		Operand: func(s Spec) Component { return s.GFD },
		GPU:     true,
	},
	{
		Name:    "state-mig-manager",
		Enabled: func(s Spec) bool { return On(s.MIGManager.Enabled, true) },
		Operand: func(s Spec) Component { return s.MIGManager.Component },
		GPU:     true,
	},
	{
		Name:    "state-node-status-exporter",
		Enabled: func(s Spec) bool { return On(s.NodeStatusExporter.Enabled, false) },
		Operand: func(s Spec) Component { return s.NodeStatusExporter },
	},
}

// mpsDaemon is the device plugin's image without its env: that belongs to the plugin.
func mpsDaemon(s Spec) Component {
	component := s.DevicePlugin.Component
	component.Env, component.Args = nil, nil
	return component
}
