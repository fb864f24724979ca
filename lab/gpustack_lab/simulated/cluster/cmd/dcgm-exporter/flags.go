package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// config is what the flags and the environment say; a flag goes before its variable. Names and defaults as in
// dcgm-exporter 4.8.3.
type config struct {
	collectors, address, socket string
	resources, engine           string
	interval, xidWindow         int // milliseconds
	clockWindow                 int
	kubernetes, noHostname      bool
	dashedModel, virtual, debug bool
}

// ignored are the flags that are accepted and change nothing here, with the variable of each. "!" before the name: a
// flag without value.
const ignored = `
config-file=DCGM_EXPORTER_CONFIG_FILE configmap-data,m=DCGM_EXPORTER_CONFIGMAP_DATA
devices,d=DCGM_EXPORTER_DEVICES_STR
switch-devices,s=DCGM_EXPORTER_OTHER_DEVICES_STR cpu-devices,p=DCGM_EXPORTER_CPU_DEVICES_STR
kubernetes-gpu-id-type=DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE web-config-file=DCGM_EXPORTER_WEB_CONFIG_FILE
kubernetes-pod-label-allowlist-regex=DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX
web-read-timeout=DCGM_EXPORTER_WEB_READ_TIMEOUT web-write-timeout=DCGM_EXPORTER_WEB_WRITE_TIMEOUT
dcgm-log-level=DCGM_EXPORTER_DCGM_LOG_LEVEL log-format=DCGM_EXPORTER_LOG_FORMAT hpc-job-mapping-dir=DCGM_HPC_JOB_MAPPING_DIR
container-runtime-socket=DCGM_CONTAINER_RUNTIME_SOCKET dump-directory=DCGM_EXPORTER_DUMP_DIRECTORY
dump-retention=DCGM_EXPORTER_DUMP_RETENTION !kubernetes-enable-pod-labels=DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS
!kubernetes-enable-pod-uid=DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID !use-old-namespace,o=DCGM_EXPORTER_USE_OLD_NAMESPACE
!fake-gpus=DCGM_EXPORTER_USE_FAKE_GPUS !web-systemd-socket= !enable-dcgm-log=DCGM_EXPORTER_ENABLE_DCGM_LOG
!container-labels=DCGM_EXPORTER_CONTAINER_LABELS !dump-enabled=DCGM_EXPORTER_DUMP_ENABLED
!dump-compression=DCGM_EXPORTER_DUMP_COMPRESSION !kubernetes-enable-dra=KUBERNETES_ENABLE_DRA
!disable-startup-validate= !enable-gpu-bind-unbind-watch= gpu-bind-unbind-poll-interval= !enable-pprof=`

// parse reads the command line; an error is that of a flag that nobody knows or of a value that is no number.
func parse(arguments []string, getenv func(string) string, errs io.Writer) (config, error) {
	var c config
	var bad error
	set := flag.NewFlagSet("dcgm-exporter", flag.ContinueOnError)
	set.SetOutput(errs)
	text := func(at *string, names, variable, otherwise string) {
		if value := getenv(variable); value != "" {
			otherwise = value
		}
		for name := range strings.SplitSeq(names, ",") {
			set.StringVar(at, name, otherwise, "")
		}
	}
	number := func(at *int, names, variable string, otherwise int) {
		if value := getenv(variable); value != "" {
			parsed, err := strconv.Atoi(value)
			if err != nil {
				bad = fmt.Errorf("could not parse %q as int value from environment variable %q: %w", value, variable, err)
			}
			otherwise = parsed
		}
		for name := range strings.SplitSeq(names, ",") {
			set.IntVar(at, name, otherwise, "")
		}
	}
	yes := func(at *bool, names, variable string) {
		otherwise := false
		if value := getenv(variable); value != "" {
			parsed, err := strconv.ParseBool(value)
			if err != nil {
				bad = fmt.Errorf("could not parse %q as bool value from environment variable %q: %w", value, variable, err)
			}
			otherwise = parsed
		}
		for name := range strings.SplitSeq(names, ",") {
			set.BoolVar(at, name, otherwise, "")
		}
	}
	text(&c.collectors, "f,collectors", "DCGM_EXPORTER_COLLECTORS", "/etc/dcgm-exporter/default-counters.csv")
	text(&c.address, "a,address", "DCGM_EXPORTER_LISTEN", ":9400")
	text(&c.socket, "pod-resources-kubelet-socket", "DCGM_POD_RESOURCES_KUBELET_SOCKET", "/var/lib/kubelet/pod-resources/kubelet.sock")
	text(&c.resources, "nvidia-resource-names", "NVIDIA_RESOURCE_NAMES", "")
	text(&c.engine, "r,remote-hostengine-info", "DCGM_REMOTE_HOSTENGINE_INFO", "")
	number(&c.interval, "c,collect-interval", "DCGM_EXPORTER_INTERVAL", 30000)
	number(&c.xidWindow, "x,xid-count-window-size", "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", 300000)
	number(&c.clockWindow, "clock-events-count-window-size", "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", 300000)
	yes(&c.kubernetes, "k,kubernetes", "DCGM_EXPORTER_KUBERNETES")
	yes(&c.noHostname, "n,no-hostname", "DCGM_EXPORTER_NO_HOSTNAME")
	yes(&c.dashedModel, "rbmn,replace-blanks-in-model-name", "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME")
	yes(&c.virtual, "kubernetes-virtual-gpus", "KUBERNETES_VIRTUAL_GPUS")
	yes(&c.debug, "debug", "DCGM_EXPORTER_DEBUG")
	for word := range strings.FieldsSeq(ignored) {
		names, variable, _ := strings.Cut(word, "=")
		if names, without := strings.CutPrefix(names, "!"); without {
			yes(new(bool), names, variable)
		} else {
			text(new(string), names, variable, "")
		}
	}
	if err := set.Parse(arguments); err != nil {
		return c, err
	}
	if c.interval <= 0 {
		bad = fmt.Errorf("the collect interval of %d ms is none", c.interval)
	}
	return c, bad
}

// hostname is NODE_NAME, which the Operator sets, or the host's own name.
func hostname(c config, getenv func(string) string) string {
	if c.noHostname {
		return ""
	}
	if name := getenv("NODE_NAME"); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}

func duration(milliseconds int) time.Duration { return time.Duration(milliseconds) * time.Millisecond }
