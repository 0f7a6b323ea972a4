package whatsapp

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/onereply/onereply"
)

// advice says what people can do about a failure, in place of Meta's own words.
var advice = map[int]string{
	outsideWindow: "the person last wrote more than 24 hours ago, and until they write again WhatsApp takes only a template message from you: send one with Meta's tools, or wait until they write",
	pairRate:      "too many messages to this person in a short time",
	numberRate:    "too many messages from this number in a short time",
	131026:        "the person can't be reached: they are not on WhatsApp, have not accepted its terms, or have an old version of it",
	131030:        "the number is a test number, and the person is not in its list of recipients: add them under API Setup in Meta's App Dashboard",
	131021:        "the sender and the receiver are the same number",
	closedCountry: "the business may not write to people of that country",
	131050:        "the person does not want this kind of message",
	131049:        "WhatsApp did not deliver it, to keep the person from too many messages of businesses",
	badToken:      "the access token is wrong or has expired: make a permanent one for a system user, and put it into token",
	10:            "the access token lacks a permission: it needs whatsapp_business_messaging",
	131005:        "the access token lacks a permission: it needs whatsapp_business_messaging",
	131031:        "Meta has locked the business account: see WhatsApp Manager",
	368:           "Meta has blocked the business account for a while: see WhatsApp Manager",
	131042:        "the business account has no valid way to pay: see the billing settings in WhatsApp Manager",
	133010:        "the number is not registered with the Cloud API: register it once",
	131048:        "WhatsApp restricts what this number may send, because people blocked or reported it: see its quality in WhatsApp Manager",
}

// explain says why a call, or a message, has failed, for people. It fits the reason of a
// report.
func (e apiError) explain() string {
	said := strings.Join(nonEmpty(cmp.Or(e.Message, e.Title), e.Data.Details), ": ")
	what, known := advice[e.Code]
	if e.Code == invalid && e.Subcode == noSuchObject {
		what, known = "there is no number with this phone_number_id, or the token may not use it", true
	}
	text := fmt.Sprintf("%s (%d)", cmp.Or(said, "no reason given"), e.Code)
	if known {
		text = fmt.Sprintf("%s (%d, %s)", what, e.Code, cmp.Or(said, "no reason given"))
	}
	return cut(text, onereply.MaxNameBytes)
}

// cut shortens a text to so many bytes, and leaves its characters whole.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
