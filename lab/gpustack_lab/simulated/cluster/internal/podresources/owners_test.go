package podresources

import (
	"context"
	"net"
	"path/filepath"
	"reflect"
	"testing"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
)

type kubelet struct {
	api.UnimplementedPodResourcesListerServer
	pods []*api.PodResources
}

func (k kubelet) List(context.Context, *api.ListPodResourcesRequest) (*api.ListPodResourcesResponse, error) {
	return &api.ListPodResourcesResponse{PodResources: k.pods}, nil
}

func pod(name, resource string, devices ...string) *api.PodResources {
	return &api.PodResources{Namespace: "ml", Name: name, Containers: []*api.ContainerResources{{
		Name: "main", Devices: []*api.ContainerDevices{{ResourceName: resource, DeviceIds: devices}},
	}}}
}

func serve(t *testing.T, pods ...*api.PodResources) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterPodResourcesListerServer(server, kubelet{pods: pods})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return socket
}

func TestOwners(t *testing.T) {
	socket := serve(t, pod("whole", "nvidia.com/gpu", "GPU-a"), pod("first", "nvidia.com/gpu", "GPU-b::0"),
		pod("second", "nvidia.com/gpu", "GPU-b::1"), pod("net", "rdma/hca", "GPU-c"), pod("named", "nvidia.com/h100", "GPU-d"))
	owner := func(pod, replica string) Owner { return Owner{"ml", pod, "main", replica} }
	for name, here := range map[string]struct {
		asker Asker
		want  map[string][]Owner
	}{
		"one of the sharers": {Asker{Socket: socket}, map[string][]Owner{"GPU-a": {owner("whole", "")}, "GPU-b": {owner("second", "")}}},
		"every sharer": {Asker{Socket: socket, Shared: true, Resources: []string{"nvidia.com/h100"}}, map[string][]Owner{
			"GPU-a": {owner("whole", "")}, "GPU-b": {owner("first", "0"), owner("second", "1")}, "GPU-d": {owner("named", "")}}},
		"no kubelet": {Asker{Socket: socket + ".none"}, nil},
	} {
		got, err := here.asker.Owners(t.Context())
		if err != nil || !reflect.DeepEqual(got, here.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
