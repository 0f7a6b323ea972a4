package channel_test

import (
	"slices"
	"testing"

	"github.com/onereply/onereply/channel"
)

// An address is the conversation's name and back.
func TestAddress(t *testing.T) {
	for _, test := range []struct {
		account string
		address channel.Address
		key     string
	}{
		{"telegram", channel.Address{"42"}, "telegram:42"},
		{"telegram/second", channel.Address{"-1007", "5"}, "telegram/second:-1007:5"},
		{"telegram", channel.Address{"42", "", "c1"}, "telegram:42::c1"},
		{"slack", channel.Address{"T1", "C1", "1531431954.000073"}, "slack:T1:C1:1531431954.000073"},
		{"evolution", channel.Address{"shop", "5511@s.whatsapp.net"}, "evolution:shop:5511%40s.whatsapp.net"},
		{"teams", channel.Address{"19:a@thread.tacv2;messageid=1"}, "teams:19%3Aa%40thread.tacv2%3Bmessageid%3D1"},
		{"twilio", channel.Address{"whatsapp:+1555", "100%"}, "twilio:whatsapp%3A%2B1555:100%25"},
	} {
		if got := test.address.Key(test.account); got != test.key {
			t.Errorf("%v is %s, want %s", test.address, got, test.key)
		}
		if got, ok := channel.ParseKey(test.account, test.key); !ok || !slices.Equal(got, test.address) {
			t.Errorf("%s is %v, %v", test.key, got, ok)
		}
	}
	for _, key := range []string{"telegram", "telegram:", "telegram::5", "telegram2:42", "telegram/second:42", "telegram:%zz", "42"} {
		if got, ok := channel.ParseKey("telegram", key); ok {
			t.Errorf("%s is taken for %v", key, got)
		}
	}
}
