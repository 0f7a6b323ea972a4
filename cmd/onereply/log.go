package main

import (
	"io"
	"log/slog"
	"os"
)

// logFlags are the flags of the log, which goes to the standard error: the standard output
// is for the line with the node's address.
type logFlags struct {
	Level  string `name:"log-level" enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Log from this level on: debug, info, warn or error (default: ${default})."`
	Format string `name:"log-format" enum:"auto,text,json" default:"auto" placeholder:"FORMAT" help:"auto, text or json; auto is text on a terminal and JSON elsewhere (default: ${default})."`
}

// logger writes text for a person at a terminal, and JSON for a program, unless a flag
// says otherwise. The demo calls it with fixed flags.
func (f logFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if f.Format == "text" || f.Format != "json" && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// isTerminal reports whether a person reads the output while it is written. Anything that
// is not a file of the system, such as the buffer of a test, is none.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
