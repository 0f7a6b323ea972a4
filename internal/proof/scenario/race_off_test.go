//go:build !race

package scenario

const raceDetector = false
