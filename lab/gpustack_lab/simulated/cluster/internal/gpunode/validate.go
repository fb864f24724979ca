package gpunode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Validations is the folder of the marker files, on the node and in each pod that waits for them.
const Validations = "/run/nvidia/validations"

// Validate runs one validation. The marker goes away first, so that it never speaks of an earlier state.
func Validate(ctx context.Context, component string, log *slog.Logger) error {
	marker := filepath.Join(Validations, component+"-ready")
	if component == "workload" {
		return Workload(ctx, log)
	}
	if err := os.Remove(marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content := ""
	var err error
	switch component {
	case "driver":
		content, err = awaitDriver(ctx, log)
	case "toolkit":
		err = command(ctx, log, "", "nvidia-smi")
	case "cuda", "plugin":
		err = inCluster(ctx, component, log)
	default:
		return fmt.Errorf("unknown component %q", component)
	}
	if err != nil {
		return fmt.Errorf("%s is not ready: %w", component, err)
	}
	log.Info("validated", "component", component)
	return write(marker, content)
}

// inCluster runs the validations that need the API.
func inCluster(ctx context.Context, component string, log *slog.Logger) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	node := Node{
		cluster:   cluster,
		name:      os.Getenv("NODE_NAME"),
		namespace: os.Getenv("OPERATOR_NAMESPACE"),
		image:     os.Getenv("VALIDATOR_IMAGE"),
		class:     os.Getenv("VALIDATOR_RUNTIME_CLASS"),
		pause:     5 * time.Second,
		log:       log,
	}
	workload := os.Getenv("WITH_WORKLOAD") == "true"
	if component == "cuda" {
		if workload {
			return node.RunWorkload(ctx, "cuda", nil)
		}
		return nil
	}
	resource, err := node.AwaitGPU(ctx)
	if err != nil || !workload {
		return err
	}
	return node.RunWorkload(ctx, "plugin", resource)
}

// awaitDriver waits without end for a driver: on the host, or in the driver container's folder.
// It returns the variables that toolkit, device plugin and feature discovery source.
func awaitDriver(ctx context.Context, log *slog.Logger) (string, error) {
	for {
		content, err := driver(ctx, "/host", "/driver-root", log)
		if err == nil {
			return content, nil
		}
		log.Info("driver is not ready", "reason", err)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(5 * time.Second):
		}
	}
}

// driver prefers the host's own driver, as the real validator does.
func driver(ctx context.Context, host, container string, log *slog.Logger) (string, error) {
	root := orDefault(os.Getenv("HOST_ROOT"), "/")
	if _, err := os.Lstat(filepath.Join(host, "usr/bin/nvidia-smi")); err == nil {
		if err := command(ctx, log, host, "nvidia-smi"); err != nil {
			return "", err
		}
		return variables(true, root, "/host"), nil
	}
	if _, err := os.Stat(filepath.Join(Validations, ".driver-ctr-ready")); err != nil {
		return "", errors.New("no nvidia-smi on the host, and no driver container is ready")
	}
	if err := command(ctx, log, container, "nvidia-smi"); err != nil {
		return "", err
	}
	return variables(false, orDefault(os.Getenv("DRIVER_INSTALL_DIR"), "/run/nvidia/driver"), "/driver-root"), nil
}

func variables(host bool, root, inPod string) string {
	return fmt.Sprintf("IS_HOST_DRIVER=%t\nNVIDIA_DRIVER_ROOT=%s\nDRIVER_ROOT_CTR_PATH=%s\nNVIDIA_DEV_ROOT=%s\nDEV_ROOT_CTR_PATH=%s\n",
		host, root, inPod, root, inPod)
}

// command runs a program, below root where one is given; its output is the pod's.
func command(ctx context.Context, log *slog.Logger, root, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, name)
	if root != "" {
		run = exec.CommandContext(ctx, "/usr/bin/"+name)
		run.Err = nil // it is looked up below root, not here
		run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		run.Dir = "/"
	}
	run.Env = append(os.Environ(), "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	log.Info("running", "program", name, "root", root)
	return run.Run()
}

// write makes the file appear at once and complete: others source it as soon as they see it.
func write(path, content string) error {
	part := path + ".part"
	if err := os.WriteFile(part, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
