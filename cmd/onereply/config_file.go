package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/onereply/onereply/server/config"
)

// minimalConfig is shown to people who have no configuration yet. It has a real model and
// a real delivery, and takes the model's key from the environment, where it belongs.
const minimalConfig = `bots:
  support:
    responder:
      kind: openai
      base_url: https://api.openai.com/v1
      api_key: ${OPENAI_API_KEY}
      model: gpt-5-mini
    delivery:
      kind: webhook
      url: https://example.com/replies
`

// readConfig reads and checks a configuration file. A file that is not there is the
// usual first mistake, so its error shows how to begin. Mistakes in the file are
// [config.Problems], which the commands print by themselves.
func readConfig(path string, env config.Lookup, overrides config.Overrides) (config.Config, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Config{}, fmt.Errorf("there is no configuration %s; name one with --config, or start with this:\n\n%s", path, minimalConfig)
	}
	if err != nil {
		return config.Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	defer file.Close()
	// The parser refuses more than MaxBytes: one byte more is enough for that.
	data, err := io.ReadAll(io.LimitReader(file, config.MaxBytes+1))
	if err != nil {
		return config.Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return config.Parse(path, data, env, overrides)
}
