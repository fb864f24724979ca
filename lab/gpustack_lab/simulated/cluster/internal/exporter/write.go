package exporter

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gpustack.local/simulated/cluster/internal/podresources"
)

// line is a sample and whose it is.
type line struct {
	row    Row
	sample Sample
	owner  podresources.Owner
}

// Write prints the text format, metrics in the order of the fields' ids as the exporter's template does. Owners are the
// pods by UUID; a GPU that several share has each of its series once for each of them.
func Write(out io.Writer, rows []Row, owners map[string][]podresources.Owner, options Options) {
	metrics := map[int][]line{}
	for _, row := range rows {
		shared := owners[row.UUID]
		if len(shared) == 0 {
			shared = []podresources.Owner{{}}
		}
		for _, owner := range shared {
			for _, sample := range row.Samples {
				metrics[sample.Counter.ID] = append(metrics[sample.Counter.ID], line{row, sample, owner})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(metrics)) {
		counter := metrics[id][0].sample.Counter
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", counter.Name, counter.Help, counter.Name, counter.Type)
		for _, one := range metrics[id] {
			fmt.Fprintf(out, "%s{%s} %s\n", counter.Name, one.labels(options), one.sample.Value)
		}
	}
}

func (l line) labels(options Options) string {
	model := l.row.Model
	if options.DashedModel {
		model = strings.Join(strings.Fields(model), "-")
	}
	text := fmt.Sprintf(`gpu="%d",UUID="%s",pci_bus_id="%s",device="nvidia%d",modelName="%s"`,
		l.row.GPU, l.row.UUID, l.row.Bus, l.row.GPU, model)
	if options.Hostname != "" {
		text += fmt.Sprintf(`,hostname="%s"`, options.Hostname)
	}
	labels := maps.Clone(l.row.Labels)
	maps.Copy(labels, l.sample.Labels)
	attributes := maps.Clone(l.sample.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	maps.Copy(attributes, l.owner.Attributes())
	return text + sorted(labels) + sorted(attributes)
}

func sorted(labels map[string]string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&out, `,%s="%s"`, name, labels[name])
	}
	return out.String()
}
