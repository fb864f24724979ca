package gpuoperator

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Spec is the part of ClusterPolicy's spec that this operator reads; keys as in the CRD nvidia.com_clusterpolicies.
type Spec struct {
	Operator struct {
		RuntimeClass string `json:"runtimeClass"`
	} `json:"operator"`
	Daemonsets struct {
		Labels            map[string]string   `json:"labels"`
		Annotations       map[string]string   `json:"annotations"`
		Tolerations       []corev1.Toleration `json:"tolerations"`
		PriorityClassName string              `json:"priorityClassName"`
		UpdateStrategy    string              `json:"updateStrategy"`
		RollingUpdate     struct {
			MaxUnavailable string `json:"maxUnavailable"`
		} `json:"rollingUpdate"`
	} `json:"daemonsets"`
	PSA struct {
		Enabled *bool `json:"enabled"`
	} `json:"psa"`
	CDI struct {
		Enabled          *bool `json:"enabled"`
		NRIPluginEnabled *bool `json:"nriPluginEnabled"`
	} `json:"cdi"`
	MIG struct {
		Strategy string `json:"strategy"`
	} `json:"mig"`
	HostPaths struct {
		RootFS           string `json:"rootFS"`
		DriverInstallDir string `json:"driverInstallDir"`
		KubeletRootDir   string `json:"kubeletRootDir"`
	} `json:"hostPaths"`
	Driver struct {
		Component        `json:",inline"`
		KernelModuleType string `json:"kernelModuleType"`
		UsePrecompiled   *bool  `json:"usePrecompiled"`
		UpgradePolicy    struct {
			AutoUpgrade bool `json:"autoUpgrade"`
		} `json:"upgradePolicy"`
		Manager Component `json:"manager"`
	} `json:"driver"`
	Toolkit struct {
		Component  `json:",inline"`
		InstallDir string `json:"installDir"`
	} `json:"toolkit"`
	DevicePlugin struct {
		Component `json:",inline"`
		Config    struct {
			Name    string `json:"name"`
			Default string `json:"default"`
		} `json:"config"`
		MPS struct {
			Root string `json:"root"`
		} `json:"mps"`
	} `json:"devicePlugin"`
	DCGM         Component `json:"dcgm"`
	DCGMExporter struct {
		Component `json:",inline"`
		Config    struct {
			Name string `json:"name"`
		} `json:"config"`
		HostPID         *bool             `json:"hostPID"`
		Annotations     map[string]string `json:"annotations"`
		EnablePodLabels *bool             `json:"enablePodLabels"`
		EnablePodUID    *bool             `json:"enablePodUID"`
		PodLabels       []string          `json:"podLabelAllowlistRegex"`
		Service         struct {
			Type                  string `json:"type"`
			InternalTrafficPolicy string `json:"internalTrafficPolicy"`
		} `json:"service"`
		ServiceMonitor *ServiceMonitor `json:"serviceMonitor"`
	} `json:"dcgmExporter"`
	GFD        Component `json:"gfd"`
	MIGManager struct {
		Component `json:",inline"`
		Config    struct {
			Name    string `json:"name"`
			Default string `json:"default"`
		} `json:"config"`
	} `json:"migManager"`
	NodeStatusExporter Component `json:"nodeStatusExporter"`
	Validator          struct {
		Component `json:",inline"`
		Driver    ExtraEnv `json:"driver"`
		Toolkit   ExtraEnv `json:"toolkit"`
		CUDA      ExtraEnv `json:"cuda"`
		Plugin    ExtraEnv `json:"plugin"`
	} `json:"validator"`
}

// Component is what the spec says of every operand.
type Component struct {
	Enabled          *bool                        `json:"enabled"`
	Repository       string                       `json:"repository"`
	Image            string                       `json:"image"`
	Version          string                       `json:"version"`
	ImagePullPolicy  string                       `json:"imagePullPolicy"`
	ImagePullSecrets []string                     `json:"imagePullSecrets"`
	Args             []string                     `json:"args"`
	Env              []corev1.EnvVar              `json:"env"`
	Resources        *corev1.ResourceRequirements `json:"resources"`
	HostNetwork      *bool                        `json:"hostNetwork"`
}

// ExtraEnv is the spec of one validation.
type ExtraEnv struct {
	Env []corev1.EnvVar `json:"env"`
}

// ServiceMonitor is what the spec says of the exporter's ServiceMonitor.
type ServiceMonitor struct {
	Enabled          *bool             `json:"enabled"`
	Interval         string            `json:"interval"`
	ScrapeTimeout    string            `json:"scrapeTimeout"`
	HonorLabels      *bool             `json:"honorLabels"`
	AdditionalLabels map[string]string `json:"additionalLabels"`
	Relabelings      []any             `json:"relabelings"`
}

// ParseSpec reads the spec of a ClusterPolicy as the API delivers it.
func ParseSpec(raw map[string]any) (Spec, error) {
	var spec Spec
	text, err := json.Marshal(raw)
	if err != nil {
		return spec, err
	}
	err = json.Unmarshal(text, &spec)
	return spec, err
}

// On says whether a switch is on; a missing one has the value fallback.
func On(value *bool, fallback bool) bool {
	if value == nil {
		return fallback
	}
	return *value
}

// ImagePath is the reference of the component's image; a version that is a digest is attached with "@".
func (c Component) ImagePath() string {
	switch {
	case c.Repository == "" && c.Version == "":
		return c.Image
	case strings.HasPrefix(c.Version, "sha256:"):
		return c.Repository + "/" + c.Image + "@" + c.Version
	}
	return c.Repository + "/" + c.Image + ":" + c.Version
}

// RuntimeClass is the RuntimeClass of operands that need a GPU, "" where NRI injects it without one.
func (s Spec) RuntimeClass() string {
	switch {
	case s.NRI():
		return ""
	case s.Operator.RuntimeClass == "":
		return "nvidia"
	}
	return s.Operator.RuntimeClass
}

// NRI says whether the toolkit's NRI plugin replaces RuntimeClass and containerd's configuration.
func (s Spec) NRI() bool { return On(s.CDI.Enabled, true) && On(s.CDI.NRIPluginEnabled, false) }
