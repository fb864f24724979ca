// Command gpu-operator is a SIMULATED GPU Operator (package gpuoperator says what that means). Its image serves, as
// the real one's, as operator, as validator of each node and as exporter of the nodes' status.
//
//	gpu-operator                                        reconcile ClusterPolicies; env OPERATOR_NAMESPACE
//	gpu-operator validate driver|toolkit|cuda|plugin    one validation on this node
//	gpu-operator node-status                            metrics of this node's validations on port 8000
//	gpu-operator apply-crds FILE...                     create or update CRDs (the chart's hook before upgrades)
//	gpu-operator delete-crds NAME...                    delete CRDs (the chart's hook after an uninstall, if asked)
//	nvidia-mig-manager                                  the same binary under this name: MIG labels only
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"gpustack.local/simulated/cluster/internal/gpunode"
	"gpustack.local/simulated/cluster/internal/gpuoperator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, log, filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger, name string, args []string) error {
	switch {
	case name == "nvidia-mig-manager":
		return withCluster(func(cluster kubernetes.Interface) error {
			return gpunode.ManageMIG(ctx, cluster, os.Getenv("NODE_NAME"), log)
		})
	case len(args) == 0:
		return operate(ctx, log)
	case len(args) == 2 && args[0] == "validate":
		return gpunode.Validate(ctx, args[1], log)
	case len(args) == 1 && args[0] == "node-status":
		return serve(ctx, ":8000", gpunode.Status{Folder: gpunode.Validations})
	case len(args) > 1 && (args[0] == "apply-crds" || args[0] == "delete-crds"):
		api, err := anyObject()
		if err != nil {
			return err
		}
		if args[0] == "delete-crds" {
			return gpuoperator.DeleteCRDs(ctx, api, args[1:])
		}
		return gpuoperator.ApplyCRDs(ctx, api, args[1:])
	}
	return fmt.Errorf("unknown command %q", args)
}

// operate runs the operator; /metrics on 8080, /healthz and /readyz on 8081.
func operate(ctx context.Context, log *slog.Logger) error {
	namespace := os.Getenv("OPERATOR_NAMESPACE")
	if namespace == "" {
		return errors.New("OPERATOR_NAMESPACE must be set")
	}
	api, err := anyObject()
	if err != nil {
		return err
	}
	operator := gpuoperator.New(api, namespace, log)
	for address, handler := range map[string]http.Handler{":8080": operator.Metrics(), ":8081": healthy()} {
		go func() {
			if err := serve(ctx, address, handler); err != nil {
				log.Error("serving", "address", address, "error", err)
			}
		}()
	}
	log.Info("SIMULATED GPU Operator", "namespace", namespace)
	operator.Run(ctx)
	return nil
}

func healthy() http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, "ok") })
}

func serve(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// clusterConfig is the pod's own access, or that of KUBECONFIG outside a cluster. A reconcile asks for some fifty
// objects: at the client's own limit of five a second it would take ten.
func clusterConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		config.QPS, config.Burst = 50, 100
	}
	return config, err
}

// anyObject is a client for objects of every kind, our own included.
func anyObject() (dynamic.Interface, error) {
	config, err := clusterConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

func withCluster(act func(kubernetes.Interface) error) error {
	config, err := clusterConfig()
	if err != nil {
		return err
	}
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return act(cluster)
}
