package dcgm

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

// job is what `stats -s` records, once a second, until `stats -x`.
type job struct {
	gpus       []int
	start, end time.Time
	of         map[int]*usage
}

// usage is of one GPU.
type usage struct {
	energy, first, memory     float64 // mJ now and at the start, MiB at most
	power, sm, mem, util, fbs spread
	single, double, replays   float64
	begun                     [3]float64
	xids                      []time.Time
	slowed                    [2]float64 // seconds by power and by heat
}

type spread struct{ sum, most, least, count float64 }

func (s *spread) add(value float64) {
	if s.count == 0 || value < s.least {
		s.least = value
	}
	s.most = max(s.most, value)
	s.sum += value
	s.count++
}

func (s spread) String() string {
	if s.count == 0 {
		return "Avg: N/A, Max: N/A, Min: N/A"
	}
	round := func(value float64) float64 { return math.Round(value*1000) / 1000 }
	return fmt.Sprintf("Avg: %v, Max: %v, Min: %v", round(s.sum/s.count), round(s.most), round(s.least))
}

func (j *job) sample(readings []telemetry.Reading, xids []gpustate.Xid, now time.Time) {
	if !j.end.IsZero() {
		return
	}
	for _, reading := range readings {
		if !slices.Contains(j.gpus, reading.GPU.Index) {
			continue
		}
		u, known := j.of[reading.GPU.Index]
		counts := [3]float64{numeric(310, reading), numeric(311, reading), numeric(202, reading)}
		if !known {
			u = &usage{first: numeric(156, reading), begun: counts}
			j.of[reading.GPU.Index] = u
		}
		u.energy, u.memory = numeric(156, reading), max(u.memory, numeric(252, reading))
		u.power.add(numeric(155, reading))
		u.sm.add(numeric(100, reading))
		u.mem.add(numeric(101, reading))
		u.util.add(numeric(203, reading))
		u.fbs.add(numeric(204, reading))
		u.single, u.double, u.replays = counts[0]-u.begun[0], counts[1]-u.begun[1], counts[2]-u.begun[2]
		for i, mask := range []int{telemetry.PowerCap, telemetry.HWThermal | telemetry.SWThermal} {
			if reading.Slowed(mask) {
				u.slowed[i]++
			}
		}
		for _, xid := range xids {
			if xid.Minor == reading.GPU.Minor && xid.Code != 0 {
				u.xids = append(u.xids, now)
			}
		}
	}
}

// stats follows dcgmi/ProcessStats.cpp. -j is the job here, and nothing is JSON. Processes are not simulated.
func (e *Engine) stats(arguments []string, to reply) (int, error) {
	known := "v:verbose s:jstart= x:jstop= j:job= r:jremove= p:pid= e:enable d:disable a:jremoveall g:group= " +
		"u:update-interval= m:max-keep-age="
	given, id, err := parseGroup(arguments, known)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range []string{"jstart", "jstop", "job", "jremove"} {
		if len(given[name]) > 64 {
			to.print("Error: Unable to st%s job for group. Return: Job ID too long.\n", map[bool]string{true: "art", false: "op"}[name == "jstart"])
			return stBadParam, nil
		}
	}
	switch {
	case given.has("enable"):
		if _, code := e.members(id, time.Now()); code != stOK {
			to.print("Error: Unable to enable process watches for group. Return: %s.\n", notFound(code))
			return code, nil
		}
		e.watching = true
		to.print("Successfully started process watches.\n")
	case given.has("disable"):
		to.print("Process stats watches cannot be disabled at this time.\n")
	case given.has("jstart"):
		return e.startJob(given["jstart"], id, to), nil
	case given.has("jstop"):
		found, ok := e.jobs[given["jstop"]]
		if !ok {
			to.print("Error: Job %s was not found.\n", given["jstop"])
			return stNoData, nil
		}
		found.end = time.Now()
		to.print("Successfully stopped recording stats for %s.\n", given["jstop"])
	case given.has("job"):
		return e.showJob(given["job"], given.has("verbose"), to), nil
	case given.has("jremove"):
		if _, ok := e.jobs[given["jremove"]]; !ok {
			to.print("Error: Job %s was not found.\n", given["jremove"])
			return stNoData, nil
		}
		delete(e.jobs, given["jremove"])
		to.print("Successfully removed job %s.\n", given["jremove"])
	case given.has("jremoveall"):
		clear(e.jobs)
		to.print("Successfully removed all jobs.\n")
	case given.has("pid"):
		to.print("Error: Unable to get information for process with PID %s. Return: %s.\n", given["pid"], words[stNoData])
		return stNoData, nil
	default:
		return 0, fmt.Errorf("One of the arguments is required")
	}
	return stOK, nil
}

func (e *Engine) startJob(name string, id int, to reply) int {
	now := time.Now()
	members, code := e.members(id, now)
	if _, there := e.jobs[name]; there && code == stOK {
		code = stDuplicate
	}
	if code != stOK {
		to.print("Error: Unable to start job for group. Return: %s.\n", notFound(code))
		return code
	}
	made := &job{gpus: members.gpus, start: now, of: map[int]*usage{}}
	made.sample(e.readings(now), nil, now)
	e.jobs[name] = made
	to.print("Successfully started recording stats for %s.\n", name)
	return stOK
}

func (e *Engine) showJob(name string, verbose bool, to reply) int {
	found, ok := e.jobs[name]
	if !ok {
		to.print("Error: Unable to retrieve job statistics. Return: %s.\n", words[stNoData])
		return stNoData
	}
	to.print("Successfully retrieved statistics for job: %s. \n", name)
	if !verbose {
		to.print("%s", found.table("Summary", found.summary(), false))
		return stOK
	}
	for _, gpu := range slices.Sorted(maps.Keys(found.of)) {
		to.print("%s", found.table(fmt.Sprintf("GPU ID: %d", gpu), *found.of[gpu], true))
	}
	return stOK
}

func (j *job) summary() usage {
	var all usage
	for _, u := range j.of {
		all.energy += u.energy - u.first
		all.memory = max(all.memory, u.memory)
		all.single, all.double, all.replays = all.single+u.single, all.double+u.double, all.replays+u.replays
		all.xids = append(all.xids, u.xids...)
		all.slowed[0], all.slowed[1] = all.slowed[0]+u.slowed[0], all.slowed[1]+u.slowed[1]
		if u.power.count > 0 {
			all.power.add(u.power.sum / u.power.count)
			all.power.most, all.power.least = max(all.power.most, u.power.most), min(all.power.least, u.power.least)
		}
	}
	return all
}

func (j *job) table(title string, u usage, verbose bool) string {
	const footer = "+------------------------------------+-----------------------------------------+\n"
	out := "+------------------------------------------------------------------------------+\n"
	out += fmt.Sprintf("| %-77s|\n+====================================+=========================================+\n", title)
	row := func(name string, value any) { out += fmt.Sprintf("| %-35s| %-39v |\n", name, value) }
	end, ended := time.Now(), "Still Running"
	if !j.end.IsZero() {
		end, ended = j.end, j.end.Format(time.ANSIC)
	}
	took := end.Sub(j.start).Seconds()
	out += "|-----  Execution Stats  ------------+-----------------------------------------|\n"
	row("Start Time", j.start.Format(time.ANSIC))
	row("End Time", ended)
	row("Total Execution Time (sec)", math.Round(took*100)/100)
	row("No. of Processes", 0)
	out += "+-----  Performance Stats  ----------+-----------------------------------------+\n"
	row("Energy Consumed (Joules)", int((u.energy-u.first)/1000))
	row("Power Usage (Watts)", u.power)
	row("Max GPU Memory Used (bytes)", int(u.memory)<<20)
	if verbose {
		row("SM Clock (MHz)", u.sm)
		row("Memory Clock (MHz)", u.mem)
		row("SM Utilization (%)", u.util)
		row("Memory Utilization (%)", u.fbs)
		row("PCIe Rx Bandwidth (megabytes)", "Avg: N/A, Max: N/A, Min: N/A")
		row("PCIe Tx Bandwidth (megabytes)", "Avg: N/A, Max: N/A, Min: N/A")
	} else {
		row("Clocks and PCIe Performance", "Available per GPU in verbose mode")
	}
	out += "+-----  Event Stats  ----------------+-----------------------------------------+\n"
	row("Single Bit ECC Errors", u.single)
	row("Double Bit ECC Errors", u.double)
	row("PCIe Replay Warnings", u.replays)
	row("Critical XID Errors", len(u.xids))
	if verbose {
		for i, at := range u.xids {
			since, name := int(at.Sub(j.start).Seconds()), ""
			if i == 0 {
				name = "XID (Hr:Min:Sec since start)"
			}
			row(name, fmt.Sprintf("%d:%02d:%02d", since/3600, since/60, since%60))
		}
	}
	out += "+-----  Slowdown Stats  -------------+-----------------------------------------+\n"
	share := func(seconds float64) float64 { return math.Round(10000*min(seconds/max(took, 1), 1)) / 100 }
	row("Due to - Power (%)", share(u.slowed[0]))
	row("       - Thermal (%)", share(u.slowed[1]))
	for _, name := range []string{"Reliability", "Board Limit", "Low Utilization", "Sync Boost"} {
		row("       - "+name+" (%)", 0)
	}
	out += "+-----  Overall Health  -------------+-----------------------------------------+\n"
	health := "Healthy"
	if len(u.xids) > 0 || u.double > 0 {
		health = "Failure"
	}
	row("Overall Health", health)
	return out + footer + "\n"
}
