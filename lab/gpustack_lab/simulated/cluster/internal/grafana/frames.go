package grafana

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// frame is Grafana's data frame in JSON: what the columns are, then the columns. Entities say where a null of a number
// column stands for what JSON cannot write.
type frame struct {
	Schema struct {
		RefID  string         `json:"refId"`
		Meta   map[string]any `json:"meta"`
		Fields []field        `json:"fields"`
	} `json:"schema"`
	Data struct {
		Values   [][]any            `json:"values"`
		Entities []map[string][]int `json:"entities,omitempty"`
	} `json:"data"`
}

type field struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	TypeInfo map[string]string `json:"typeInfo"`
	Labels   map[string]string `json:"labels,omitempty"`
	Config   map[string]any    `json:"config,omitempty"`
}

// frames makes one frame of each series; an answer without any is one frame without fields.
func frames(got answer, one query, executed string, every time.Duration) ([]frame, error) {
	var all []series
	kind := map[string]string{"matrix": "timeseries-multi", "vector": "numeric-multi", "scalar": "numeric-multi"}[got.Data.Type]
	switch got.Data.Type {
	case "matrix", "vector":
		if err := json.Unmarshal(got.Data.Result, &all); err != nil {
			return nil, err
		}
	case "scalar":
		var only series
		if err := json.Unmarshal(got.Data.Result, &only.Value); err != nil {
			return nil, err
		}
		all = []series{only}
	default:
		return nil, fmt.Errorf("unknown result type: %s", got.Data.Type)
	}
	meta := map[string]any{"type": kind, "typeVersion": []int{0, 1}, "custom": map[string]string{"resultType": got.Data.Type}, "executedQueryString": executed}
	if len(all) == 0 {
		empty := frame{}
		empty.Schema.RefID, empty.Schema.Meta, empty.Schema.Fields = one.RefID, meta, []field{}
		empty.Data.Values = [][]any{}
		return []frame{empty}, nil
	}
	var out []frame
	for _, single := range all {
		next, err := single.frame(one)
		if err != nil {
			return nil, err
		}
		next.Schema.Meta = meta
		if got.Data.Type == "matrix" {
			next.Schema.Fields[0].Config = map[string]any{"interval": every.Milliseconds()}
		}
		out = append(out, next)
	}
	return out, nil
}

func (s series) frame(one query) (frame, error) {
	var out frame
	out.Schema.RefID = one.RefID
	labels := s.Metric
	if labels == nil {
		labels = map[string]string{}
	}
	value := field{Name: "Value", Type: "number", TypeInfo: map[string]string{"frame": "float64"}, Labels: labels}
	if one.Legend != "" && one.Legend != "__auto" {
		value.Config = map[string]any{"displayNameFromDS": legend(one.Legend, labels)}
	}
	out.Schema.Fields = []field{{Name: "Time", Type: "time", TypeInfo: map[string]string{"frame": "time.Time"}}, value}
	points := s.Values
	if points == nil {
		points = [][2]json.RawMessage{s.Value}
	}
	times, numbers, entities := []any{}, []any{}, map[string][]int{}
	for row, point := range points {
		at, err1 := strconv.ParseFloat(string(point[0]), 64)
		var text string
		err2 := json.Unmarshal(point[1], &text)
		number, err3 := strconv.ParseFloat(text, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			return out, fmt.Errorf("no point: %s %s", point[0], point[1])
		}
		times = append(times, int64(math.Round(at*1000)))
		name := ""
		switch {
		case math.IsNaN(number):
			name = "NaN"
		case math.IsInf(number, 1):
			name = "Inf"
		case math.IsInf(number, -1):
			name = "NegInf"
		}
		if name == "" {
			numbers = append(numbers, number)
		} else {
			numbers, entities[name] = append(numbers, nil), append(entities[name], row)
		}
	}
	out.Data.Values = [][]any{times, numbers}
	if len(entities) > 0 {
		out.Data.Entities = []map[string][]int{nil, entities}
	}
	return out, nil
}

var braces = regexp.MustCompile(`\{\{\s*(.+?)\s*\}\}`)

func legend(format string, labels map[string]string) string {
	return braces.ReplaceAllStringFunc(format, func(found string) string { return labels[braces.FindStringSubmatch(found)[1]] })
}
