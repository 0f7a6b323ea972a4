package telegram

import "encoding/json"

// The parts of the Bot API's objects that are read here. Fields that are absent have their
// zero values; the API leaves out what is false or empty.

type update struct {
	ID             int64    `json:"update_id"`
	Message        *message `json:"message"`
	Edited         *message `json:"edited_message"`
	Business       *message `json:"business_message"`
	EditedBusiness *message `json:"edited_business_message"`
	Deleted        *deleted `json:"deleted_business_messages"`
}

type message struct {
	ID           int64   `json:"message_id"`
	Thread       int64   `json:"message_thread_id"`
	IsTopic      bool    `json:"is_topic_message"`
	From         *user   `json:"from"`
	SenderChat   *chat   `json:"sender_chat"`
	Date         int64   `json:"date"`
	EditDate     int64   `json:"edit_date"`
	Chat         chat    `json:"chat"`
	Forward      *origin `json:"forward_origin"`
	AutoForward  bool    `json:"is_automatic_forward"`
	Business     string  `json:"business_connection_id"`
	BusinessBot  *user   `json:"sender_business_bot"`
	Album        string  `json:"media_group_id"`
	Text         string  `json:"text"`
	Entities     []span  `json:"entities"`
	Caption      string  `json:"caption"`
	CaptionSpans []span  `json:"caption_entities"`
	MigrateTo    int64   `json:"migrate_to_chat_id"`
	MigrateFrom  int64   `json:"migrate_from_chat_id"`

	ReplyTo *message `json:"reply_to_message"`
	Quote   *struct {
		Text string `json:"text"`
	} `json:"quote"`

	Photo     []file   `json:"photo"`
	Document  *file    `json:"document"`
	Voice     *file    `json:"voice"`
	Audio     *file    `json:"audio"`
	Video     *file    `json:"video"`
	VideoNote *file    `json:"video_note"`
	Animation *file    `json:"animation"`
	Sticker   *sticker `json:"sticker"`
	Location  *place   `json:"location"`
	Contact   *contact `json:"contact"`
}

type deleted struct {
	Business string  `json:"business_connection_id"`
	Chat     chat    `json:"chat"`
	IDs      []int64 `json:"message_ids"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group, supergroup or channel
	Title     string `json:"title"`
	FirstName string `json:"first_name"`
}

// origin is where a message was forwarded from. Its type says which field is set.
type origin struct {
	User     *user  `json:"sender_user"`
	UserName string `json:"sender_user_name"` // of somebody who hides their account
	Sender   *chat  `json:"sender_chat"`
	Chat     *chat  `json:"chat"` // of a channel
}

// span is a part of a text that means something. Offset and length are in code units of
// UTF-16.
type span struct {
	Type   string `json:"type"` // mention, text_mention, bot_command, …
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"` // of a text_mention
}

type file struct {
	ID       string `json:"file_id"`
	MIMEType string `json:"mime_type"`
	Name     string `json:"file_name"`
}

type sticker struct {
	ID    string `json:"file_id"`
	Emoji string `json:"emoji"`
}

type place struct {
	Latitude  json.Number `json:"latitude"`
	Longitude json.Number `json:"longitude"`
}

type contact struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

// answer is what the API says to a call.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		MigrateTo  int64 `json:"migrate_to_chat_id"`
		RetryAfter int   `json:"retry_after"`
	} `json:"parameters"`
}
