package grafana

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// mostPoints is Prometheus's limit of points in a series.
const mostPoints = 11000

// step is how far apart points are: as the panel asks, never under the data source's scrape interval, a second, or what
// Prometheus refuses. Times are in milliseconds.
func step(from, to int64, query query, source DataSource) time.Duration {
	least := source.ScrapeInterval()
	if own, err := time.ParseDuration(query.Interval); err == nil && own > 0 {
		least = own
	}
	points := query.MaxDataPoints
	if points <= 0 {
		points = 100
	}
	length := time.Duration(to-from) * time.Millisecond
	out := max(least, length/time.Duration(points), time.Duration(query.IntervalMs)*time.Millisecond, length/mostPoints, time.Second)
	return out.Truncate(time.Second)
}

var macro = regexp.MustCompile(`\$(?:\{(__\w+)\}|(__\w+))`)

// expand puts durations in the place of the macros; a variable of the dashboard is left for Prometheus to refuse.
func expand(expression string, from, to int64, every time.Duration, source DataSource) string {
	scrape := source.ScrapeInterval()
	values := map[string]string{
		"__interval":         seconds(every),
		"__interval_ms":      strconv.FormatInt(every.Milliseconds(), 10),
		"__rate_interval":    seconds(max(every+scrape, 4*scrape)),
		"__rate_interval_ms": strconv.FormatInt(max(every+scrape, 4*scrape).Milliseconds(), 10),
		"__range":            fmt.Sprintf("%ds", (to-from)/1000),
		"__range_s":          strconv.FormatInt((to-from)/1000, 10),
		"__range_ms":         strconv.FormatInt(to-from, 10),
	}
	return macro.ReplaceAllStringFunc(expression, func(found string) string {
		if value, ok := values[strings.Trim(found, "${}")]; ok {
			return value
		}
		return found
	})
}

func seconds(length time.Duration) string { return fmt.Sprintf("%ds", int64(length.Seconds())) }

var relative = regexp.MustCompile(`^now(?:-(\d+)([smhdwy]))?$`)

// moment is a time in milliseconds: a number, "now" or "now-6h".
func moment(text string, now time.Time) (int64, error) {
	if parts := relative.FindStringSubmatch(text); parts != nil {
		units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour}
		many, _ := strconv.Atoi(parts[1])
		return now.Add(-time.Duration(many) * units[parts[2]]).UnixMilli(), nil
	}
	return strconv.ParseInt(text, 10, 64)
}
