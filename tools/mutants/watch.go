package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// watch ends a process that takes too much memory or processor time, or that stands
// still. Unlike the time on the clock, these don't depend on how busy the machine is.
func watch(ctx context.Context, process int, processor time.Duration, stop func(error)) {
	ticker := time.NewTicker(watchPeriod)
	defer ticker.Stop()
	var last time.Duration // of processor time
	changed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			used, known := processorTime(process)
			if used != last || !known {
				last, changed = used, now
			}
			if used > processor || now.Sub(changed) > stillLimit || memoryOf(process) > memoryLimit {
				stop(errEndless)
				return
			}
		}
	}
}

// memoryOf is how many bytes a process holds; 0 where the system does not tell.
func memoryOf(process int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process))
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0
	}
	return resident * os.Getpagesize()
}

// processorTime is how long a process has worked, where the system tells.
func processorTime(process int) (used time.Duration, known bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) // of proc(5), from the third on
	if len(fields) < 13 {
		return 0, false
	}
	user, err := strconv.Atoi(string(fields[11]))
	if err != nil {
		return 0, false
	}
	system, err := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * (time.Second / ticksPerSecond), err == nil
}
