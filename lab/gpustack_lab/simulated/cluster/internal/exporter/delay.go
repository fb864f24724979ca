package exporter

import "time"

// delays holds back what a test wants late (exporter_delay, seconds): a GPU then shows the reading of so long ago, and
// until there is one the last that it showed, or nothing at all.
type delays struct{ waiting, shown map[string][]Row }

func newDelays() *delays { return &delays{waiting: map[string][]Row{}, shown: map[string][]Row{}} }

// pass takes the newest reading and returns the one to show, none while everything is too young.
func (d *delays) pass(uuid string, newest Row, now time.Time) []Row {
	if newest.delaySet <= 0 {
		delete(d.waiting, uuid)
		d.shown[uuid] = []Row{newest}
		return d.shown[uuid]
	}
	queue := append(d.waiting[uuid], newest)
	for len(queue) > 0 && now.Sub(queue[0].taken) >= newest.delaySet {
		d.shown[uuid] = queue[:1]
		queue = queue[1:]
	}
	d.waiting[uuid] = queue
	return d.shown[uuid]
}
