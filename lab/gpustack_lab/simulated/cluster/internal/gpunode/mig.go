package gpunode

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	migConfig = "nvidia.com/mig.config"
	migState  = "nvidia.com/mig.config.state"
)

// ManageMIG answers the node's label mig.config with mig.config.state: pending, then success for all-disabled, and
// failed for every profile, because no simulated GPU can be divided. It runs until the context ends.
func ManageMIG(ctx context.Context, cluster kubernetes.Interface, node string, log *slog.Logger) error {
	done := ""
	for {
		found, err := cluster.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			log.Error("cannot read the node", "error", err)
		} else if wanted := found.Labels[migConfig]; wanted != "" && wanted != done {
			for _, state := range []string{"pending", migOutcome(wanted)} {
				if err := label(ctx, cluster, node, state); err != nil {
					return err
				}
			}
			log.Info("SIMULATED MIG", "config", wanted, "state", migOutcome(wanted))
			done = wanted
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
	}
}

func migOutcome(config string) string {
	if config == "all-disabled" {
		return "success"
	}
	return "failed"
}

func label(ctx context.Context, cluster kubernetes.Interface, node, state string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{migState: state}}})
	if err != nil {
		return err
	}
	_, err = cluster.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
