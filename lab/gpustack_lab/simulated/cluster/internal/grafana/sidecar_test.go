package grafana

import (
	"context"
	"fmt"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const dashboardLabel = "grafana_dashboard"

func configMap(namespace, name, label, folder string, data map[string]string) *core.ConfigMap {
	return &core.ConfigMap{
		ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{label: "1"},
			Annotations: map[string]string{"grafana_folder": folder}},
		Data: data,
	}
}

// eventually waits for what a watch brings.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 500 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(what)
}

func TestSidecar(t *testing.T) {
	other := configMap("a", "other-value", dashboardLabel, "", map[string]string{"x.json": `{"title":"X"}`})
	other.Labels[dashboardLabel] = "0"
	client := fake.NewClientset(other,
		configMap("gpu", "first", dashboardLabel, "GPUs", map[string]string{"first.json": `{"title":"First","uid":"first"}`}),
		configMap("gpu", "unlabelled", "app", "", map[string]string{"no.json": `{"title":"No"}`}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	selected := Selection{Label: dashboardLabel, Value: "1", FolderAnnotation: "grafana_folder"}
	server := NewServer("admin", "secret")
	if err := Watch(ctx, client, selected, server.Dashboards); err != nil {
		t.Fatal(err)
	}
	shows := func(want ...string) func() bool {
		return func() bool {
			dashboards, _, _ := server.all()
			var got []string
			for _, one := range dashboards {
				got = append(got, one.Folder+"/"+one.Title)
			}
			return fmt.Sprint(got) == fmt.Sprint(want)
		}
	}
	eventually(t, "the first list", shows("GPUs/First"))
	maps := client.CoreV1().ConfigMaps
	second := configMap("monitoring", "second", dashboardLabel, "", nil)
	second.BinaryData = map[string][]byte{"second.json": []byte(`{"title":"Second"}`)}
	if _, err := maps("monitoring").Create(ctx, second, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another namespace, binary data, no folder", shows("GPUs/First", "/Second"))
	moved := configMap("gpu", "first", dashboardLabel, "Elsewhere", map[string]string{"new.json": `{"title":"New"}`})
	if _, err := maps("gpu").Update(ctx, moved, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "moved and renamed", shows("Elsewhere/New", "/Second"))
	if err := maps("monitoring").Delete(ctx, "second", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "removed", shows("Elsewhere/New"))
}
