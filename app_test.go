package onereply_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onereply/onereply"
	"github.com/onereply/onereply/store/memory"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		start := time.Now()
		var sent []string
		app, err := onereply.Open(ctx, memory.New(), onereply.Options{}, onereply.Bot{
			Name: "b", Debounce: 2 * time.Second,
			Responder: onereply.ResponderFunc(func(ctx context.Context, tr *onereply.Turn) (onereply.Reply, error) {
				select {
				case <-ctx.Done():
					return onereply.Reply{}, ctx.Err()
				case <-time.After(6 * time.Second):
				}
				return onereply.Reply{Text: tr.Text()}, nil
			}),
			Sender: onereply.SenderFunc(func(ctx context.Context, d *onereply.Delivery) error {
				sent = append(sent, fmt.Sprint(time.Since(start), d.ID, d.Text, d.Covers, d.LateInput))
				return nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		recv := func(id string) {
			r, err := app.Receive(ctx, "b", "c", onereply.Message{ID: id, Text: "text " + id})
			t.Log(time.Since(start), r, err)
		}
		recv("m1")
		time.Sleep(time.Second)
		recv("m2")
		recv("m2")
		time.Sleep(4 * time.Second)
		recv("m3")
		time.Sleep(20 * time.Second)
		st, err := app.State(ctx, "b", "c")
		t.Logf("%+v %v", st, err)
		es, _ := app.Transcript(ctx, "b", "c", 0, 0)
		for _, e := range es {
			t.Logf("%+v", e)
		}
		t.Log(sent)
		t.Logf("%+v", app.Stats())
	})
}
