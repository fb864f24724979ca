module gpustack.local/simulated/cluster

go 1.26.0

require (
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	k8s.io/api v0.36.4 // indirect
	k8s.io/apimachinery v0.36.4 // indirect
	k8s.io/client-go v0.36.4 // indirect
	k8s.io/kubelet v0.36.4 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
