package gpuoperator

import (
	"context"
	"fmt"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// ApplyCRDs creates or updates the CustomResourceDefinitions of the files: Helm installs CRDs once and never updates
// them, so the chart does it by a hook.
func ApplyCRDs(ctx context.Context, api dynamic.Interface, files []string) error {
	client := api.Resource(resources["CustomResourceDefinition"].gvr)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			crd := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &crd.Object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if len(crd.Object) == 0 {
				continue
			}
			found, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				_, err = client.Create(ctx, crd, metav1.CreateOptions{})
			case err == nil:
				crd.SetResourceVersion(found.GetResourceVersion())
				_, err = client.Update(ctx, crd, metav1.UpdateOptions{})
			}
			if err != nil {
				return fmt.Errorf("%s: %w", crd.GetName(), err)
			}
		}
	}
	return nil
}

// DeleteCRDs deletes CustomResourceDefinitions by name, and with them every object of their kinds.
func DeleteCRDs(ctx context.Context, api dynamic.Interface, names []string) error {
	for _, name := range names {
		err := api.Resource(resources["CustomResourceDefinition"].gvr).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
