package testservers

import "testing"

func TestRedisKeepsNothingUnlessAskedTo(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		kept     string
	}{
		{"no settings", nil, "$-1"},
		{"a log", []string{"--appendonly", "yes", "--appendfsync", "always"}, "$5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := NewRedis(t, c.settings...)
			command(t, server, "SET key value")
			server.Kill(t)
			server.Start(t)
			if got := command(t, server, "GET key"); got != c.kept {
				t.Errorf("after a kill: got %q, want %q", got, c.kept)
			}
		})
	}
}

func TestRedisServersAreApart(t *testing.T) {
	one, other := NewRedis(t), NewRedis(t)
	command(t, one, "SET key value")
	if got := command(t, other, "GET key"); got != "$-1" {
		t.Errorf("the other server has %q", got)
	}
}

func TestARefusedCommandIsAnError(t *testing.T) {
	if answer, err := NewRedis(t).Command("NONSENSE"); err == nil {
		t.Errorf("got %q, want an error", answer)
	}
}

func TestTheServersOfAClusterShareAllSlots(t *testing.T) {
	servers := NewRedisCluster(t, 3)
	for _, key := range []string{"a", "b", "{c}:d"} {
		taken := 0
		for _, server := range servers {
			if _, err := server.Command("SET " + key + " value"); err == nil {
				taken++
			}
		}
		if taken != 1 {
			t.Errorf("%d servers took the key %s, want one", taken, key)
		}
	}
	for _, server := range servers {
		if _, err := server.Command("MSET a 1 b 2"); err == nil {
			t.Error("keys of two slots were written by one command")
		}
	}
}

func command(t *testing.T, server *RedisServer, line string) string {
	t.Helper()
	answer, err := server.Command(line)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
