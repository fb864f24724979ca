// Package podresources asks the kubelet which pod was given which GPU.
package podresources

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Limits as in the exporter: the connection's wait, and a message of many pods.
const (
	patience = 10 * time.Second
	largest  = 16 << 20
)

// Owner is a container that was given a GPU. Replica is set only where GPUs are shared and each sharer counts.
type Owner struct{ Namespace, Pod, Container, Replica string }

// Attributes are the labels that the exporter adds; none for a GPU that nobody has.
func (o Owner) Attributes() map[string]string {
	if o.Pod == "" {
		return nil
	}
	out := map[string]string{"namespace": o.Namespace, "pod": o.Pod, "container": o.Container}
	if o.Replica != "" {
		out["vgpu"] = o.Replica
	}
	return out
}

// Asker keeps what the exporter's environment says of the mapping.
type Asker struct {
	Socket    string
	Resources []string // names beside nvidia.com/gpu and nvidia.com/mig-…
	Shared    bool     // every pod of a shared GPU, not just one of them
}

// Owners lists the pods by GPU UUID; none where there is no socket.
func (a Asker) Owners(ctx context.Context) (map[string][]Owner, error) {
	if _, err := os.Stat(a.Socket); err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := grpc.NewClient("unix:"+a.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largest)))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	answer, err := api.NewPodResourcesListerClient(connection).List(ctx, &api.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("failure getting pod resources; err: %w", err)
	}
	return a.owners(answer), nil
}

func (a Asker) owners(answer *api.ListPodResourcesResponse) map[string][]Owner {
	out := map[string][]Owner{}
	for _, pod := range answer.GetPodResources() {
		for _, container := range pod.GetContainers() {
			for _, device := range container.GetDevices() {
				if !a.mapped(device.GetResourceName()) {
					continue
				}
				for _, id := range device.GetDeviceIds() {
					// A replica of a shared GPU is called UUID::number.
					uuid, replica, _ := strings.Cut(id, "::")
					owner := Owner{Namespace: pod.GetNamespace(), Pod: pod.GetName(), Container: container.GetName()}
					if a.Shared {
						owner.Replica = replica
						out[uuid] = append(out[uuid], owner)
					} else {
						out[uuid] = []Owner{owner}
					}
				}
			}
		}
	}
	return out
}

func (a Asker) mapped(resource string) bool {
	return resource == "nvidia.com/gpu" || strings.HasPrefix(resource, "nvidia.com/mig-") || slices.Contains(a.Resources, resource)
}
