// blocks writes series from standard input as one block of Prometheus' time series database.
//
//	{"__name__":"up","job":"x"}   opens a series
//	1780272000 60 3 1             first time in seconds, seconds between samples, samples, value or "stale"
//
// usage: blocks FOLDER HOURS. HOURS is the whole time of the input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Samples between two commits.
const batch = 200_000

type writer struct {
	*tsdb.BlockWriter
	appender storage.Appender
	series   labels.Labels
	ref      storage.SeriesRef
	samples  int
}

func main() {
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder, span string) error {
	hours, err := strconv.ParseInt(span, 10, 64)
	if err != nil {
		return err
	}
	// A sample may be half of it older than the newest: series come one after the other.
	blocks, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), folder, 2*hours*3_600_000)
	if err != nil {
		return err
	}
	defer blocks.Close()
	made := writer{BlockWriter: blocks, appender: blocks.Appender(context.Background())}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := made.take(lines.Text()); err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if err := made.appender.Commit(); err != nil {
		return err
	}
	_, err = blocks.Flush(context.Background())
	return err
}

func (w *writer) take(line string) error {
	if strings.HasPrefix(line, "{") {
		names := map[string]string{}
		w.ref = 0
		err := json.Unmarshal([]byte(line), &names)
		w.series = labels.FromMap(names)
		return err
	}
	var first, step, count int64
	var text string
	if _, err := fmt.Sscan(line, &first, &step, &count, &text); err != nil {
		return err
	}
	number := math.Float64frombits(value.StaleNaN)
	if text != "stale" {
		var err error
		if number, err = strconv.ParseFloat(text, 64); err != nil {
			return err
		}
	}
	for at := first; at < first+count*step; at += step {
		if err := w.append(at*1000, number); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) append(at int64, number float64) (err error) {
	if w.ref, err = w.appender.Append(w.ref, w.series, at, number); err != nil {
		return err
	}
	if w.samples++; w.samples%batch == 0 {
		err = w.appender.Commit()
		w.appender = w.Appender(context.Background())
	}
	return err
}
