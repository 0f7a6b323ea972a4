package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/onereply/onereply/channel/slack/fakeslack"
	"github.com/onereply/onereply/channel/telegram/faketelegram"
	"github.com/onereply/onereply/channel/whatsapp/fakewhatsapp"
)

// telegramDemo is a fake Telegram. The node polls it.
type telegramDemo struct{ *faketelegram.Telegram }

const telegramDemoToken = "1:fake-token-of-the-demo"

var telegramPerson = faketelegram.User{ID: 42, FirstName: "Ann"}

func newTelegramDemo() fakePlatform {
	return telegramDemo{faketelegram.New(telegramDemoToken, "demo_bot")}
}

func (telegramDemo) entry(address string) string {
	return fmt.Sprintf("kind: telegram, token: %q, api_base: %q", telegramDemoToken, address)
}

func (telegramDemo) connect(context.Context, string) error { return nil }

func (d telegramDemo) say(number int, text string) { d.Say(telegramPerson, int64(number), text) }

func (d telegramDemo) shown() (texts []string) {
	for _, m := range d.Chat(telegramPerson.ID) {
		texts = append(texts, m.Text)
	}
	return texts
}

func (d telegramDemo) typing() int { return d.TypingShown(telegramPerson.ID) }

// whatsappDemo is a fake WhatsApp. It posts to the node.
type whatsappDemo struct{ *fakewhatsapp.WhatsApp }

var (
	whatsappDemoAccount = fakewhatsapp.Account{
		PhoneNumberID: "106540352242922", Number: "15550783881", Token: "fake-token", AppSecret: "fake-app-secret", VerifyToken: "fake-verify-token",
	}
	whatsappPerson = fakewhatsapp.Person{Phone: "15551234567", UserID: "US.13491208655302741918", Name: "Ann"}
)

func newWhatsAppDemo() fakePlatform { return whatsappDemo{fakewhatsapp.New(whatsappDemoAccount)} }

func (whatsappDemo) entry(address string) string {
	a := whatsappDemoAccount
	return fmt.Sprintf("kind: whatsapp, phone_number_id: %q, token: %q, app_secret: %q, verify_token: %q, api_base: %q",
		a.PhoneNumberID, a.Token, a.AppSecret, a.VerifyToken, address)
}

func (d whatsappDemo) connect(ctx context.Context, node string) error {
	_, err := d.Subscribe(ctx, http.DefaultClient, node+"/channels/demo/whatsapp")
	return err
}

func (d whatsappDemo) say(number int, text string) {
	d.Say(whatsappPerson, "wamid.demo"+strconv.Itoa(number), text)
}

func (d whatsappDemo) shown() (texts []string) {
	for _, m := range d.Chat(whatsappPerson.UserID) {
		texts = append(texts, m.Text)
	}
	return texts
}

func (d whatsappDemo) typing() int { return d.TypingShown(whatsappPerson.UserID) }

// slackDemo is a fake Slack. It posts to the node, and shows no typing.
type slackDemo struct{ *fakeslack.Slack }

var slackDemoApp = fakeslack.App{ID: "A1", Team: "T1", BotUser: "U1", Bot: "B1", Token: "xoxb-fake-token", SigningSecret: "fake-signing-secret"}

// slackDemoChannel is the direct chat of the person with the bot.
const slackDemoChannel = "D1"

func newSlackDemo() fakePlatform { return slackDemo{fakeslack.New(slackDemoApp)} }

func (slackDemo) entry(address string) string {
	return fmt.Sprintf("kind: slack, bot_token: %q, signing_secret: %q, api_base: %q", slackDemoApp.Token, slackDemoApp.SigningSecret, address+"/api")
}

func (d slackDemo) connect(ctx context.Context, node string) error {
	_, err := d.Subscribe(ctx, http.DefaultClient, node+"/channels/demo/slack")
	return err
}

func (d slackDemo) say(number int, text string) {
	d.Say(slackDemoChannel, "U2", fmt.Sprintf("%d.%06d", time.Now().Unix(), number), text, nil)
}

func (d slackDemo) shown() (texts []string) {
	for _, m := range d.Channel(slackDemoChannel) {
		texts = append(texts, m.Text)
	}
	return texts
}

func (slackDemo) typing() int { return 0 }
