// Package counters reads the file that says which fields the exporter shows, with the grammar and the refusals of
// dcgm-exporter 4.8.3. Source: its internal/pkg/counters and the counter files that it ships.
package counters

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"

	"gpustack.local/simulated/cluster/internal/fields"
)

// Counter is one row: a DCGM field, or one of the exporter's own (ID from FirstOwn on).
type Counter struct {
	ID               int
	Name, Type, Help string
}

// IsLabel says that the row becomes a label of all series.
func (c Counter) IsLabel() bool { return c.Type == "label" }

// FirstOwn is where the exporter's own numbers begin, above all of DCGM's.
const FirstOwn = 9000

// The exporter's own metrics, in the order of their numbers.
const (
	XidErrorsCount   = "DCGM_EXP_XID_ERRORS_COUNT"
	ClockEventsCount = "DCGM_EXP_CLOCK_EVENTS_COUNT"
	GPUHealthStatus  = "DCGM_EXP_GPU_HEALTH_STATUS"
	P2PStatus        = "DCGM_EXP_P2P_STATUS"
	XidErrorsTotal   = "DCGM_EXP_XID_ERRORS_TOTAL"
	ClockEventsTotal = "DCGM_EXP_CLOCK_EVENTS_TOTAL"
)

var own = map[string]int{
	XidErrorsCount: FirstOwn + 1, ClockEventsCount: FirstOwn + 2, GPUHealthStatus: FirstOwn + 3,
	P2PStatus: FirstOwn + 4, XidErrorsTotal: FirstOwn + 5, ClockEventsTotal: FirstOwn + 6,
}

var types = map[string]bool{"gauge": true, "counter": true, "histogram": true, "summary": true, "label": true}

// Read parses the file at path. Enabled says whether any GPU here has the field; rows of others are left out and told
// to skipped.
func Read(path string, enabled func(id int) bool, skipped func(line int, name string)) ([]Counter, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("could not read metrics file '%s'; err: %w", path, err)
	}
	defer file.Close()
	records, err := Records(file)
	if err != nil {
		return nil, fmt.Errorf("could not read metrics file '%s'; err: %w", path, err)
	}
	return Parse(records, enabled, skipped)
}

// Records splits the text into rows; '#' at a line's very beginning makes it a comment.
func Records(text io.Reader) ([][]string, error) {
	reader := csv.NewReader(text)
	reader.Comment = '#'
	return reader.ReadAll()
}

// Parse makes counters of rows. The same field twice keeps its first row, in whatever spelling.
func Parse(records [][]string, enabled func(id int) bool, skipped func(line int, name string)) ([]Counter, error) {
	var out []Counter
	seen := map[int]bool{}
	for line, record := range records {
		for i := range record {
			record[i] = strings.Trim(record[i], " ")
		}
		if len(record) != 3 {
			return nil, fmt.Errorf("malformed CSV record; err: failed to parse line %d (`%v`), expected 3 fields", line, record)
		}
		counter := Counter{Name: record[0], Type: record[1], Help: record[2]}
		id, known := fields.ID(counter.Name)
		if !known {
			if id, known = own[counter.Name]; !known {
				return nil, fmt.Errorf("could not find DCGM field; err: unknown ExporterCounter field '%s'", counter.Name)
			}
		} else {
			if !enabled(id) {
				skipped(line, counter.Name)
				continue
			}
			if !types[counter.Type] {
				return nil, fmt.Errorf("could not find Prometheus metric type '%s'", counter.Type)
			}
		}
		if counter.ID = id; !seen[id] {
			seen[id] = true
			out = append(out, counter)
		}
	}
	return out, nil
}
