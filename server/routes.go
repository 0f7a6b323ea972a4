package server

// routes is the whole API. Each line is described in openapi.json, and a test holds the
// two together. The access is [byKey] where a line names none, and such a line has to name
// the right that a key needs: a new call is closed until somebody opens it. Calls of
// operators are audited, with the name of their key. Those of channels and agents are the
// daily traffic, and are not. The order does not matter, since no path fits two patterns of
// one method.
func (s *Server) routes() []*route {
	const (
		list  = "/v1/bots/{bot}/conversations"
		one   = list + "/{conversation}"
		alias = "/v1/bots/{bot}/aliases/{alias}"
	)
	return []*route{
		{method: "POST", pattern: one + "/messages", needs: Write, counted: true, handle: s.postMessage},
		{method: "PATCH", pattern: one + "/messages/{id}", needs: Write, counted: true, handle: s.patchMessage},
		{method: "DELETE", pattern: one + "/messages/{id}", needs: Write, counted: true, handle: s.deleteMessage},

		{method: "POST", pattern: one + "/typing", needs: Write, handle: s.postTyping},
		{method: "POST", pattern: one + "/turns/{turn}/resend", needs: Operate, handle: s.postResend, audited: true},
		{method: "POST", pattern: one + "/turns/{turn}/mark-sent", needs: Operate, handle: s.postMarkSent, audited: true},
		{method: "POST", pattern: one + "/flush", needs: Operate, handle: s.postFlush, audited: true},
		{method: "POST", pattern: one + "/pause", needs: Operate, handle: s.postPause, audited: true},
		{method: "POST", pattern: one + "/resume", needs: Operate, handle: s.postResume, audited: true},
		{method: "POST", pattern: one + "/reset", needs: Operate, handle: s.postReset, audited: true},
		{method: "POST", pattern: one + "/move", needs: Operate, handle: s.postMove, audited: true},
		{method: "PUT", pattern: alias, needs: Operate, handle: s.putAlias, audited: true},
		{method: "GET", pattern: alias, needs: Read, handle: s.getAlias},
		{method: "DELETE", pattern: alias, needs: Operate, handle: s.deleteAlias, audited: true},
		{method: "POST", pattern: one + "/replies", needs: Operate, handle: s.postReply, audited: true},
		{method: "POST", pattern: one + "/replies/{turn}/status", needs: Write, handle: s.postReplyStatus},
		{method: "POST", pattern: one + "/requeue", needs: Operate, handle: s.postRequeue, audited: true},
		{method: "POST", pattern: one + "/turns/{token}/seal", needs: Seal, byGrant: true, handle: s.postSeal},

		{method: "GET", pattern: one, needs: Read, handle: s.getState},
		{method: "DELETE", pattern: one, needs: Admin, handle: s.deleteConversation, audited: true},
		{method: "GET", pattern: one + "/transcript", needs: Read, handle: s.getTranscript},
		{method: "GET", pattern: one + "/timeline", needs: Read, handle: s.getTimeline},
		{method: "GET", pattern: one + "/audit", needs: Admin, handle: s.getAudit},
		{method: "GET", pattern: "/v1/whoami", needs: anyRight, handle: s.getWhoAmI},
		{method: "GET", pattern: "/v1/sessions", needs: Admin, allBots: true, handle: s.getSessions},
		{method: "DELETE", pattern: "/v1/sessions/{id}", needs: Admin, allBots: true, handle: s.deleteSession},
		{method: "GET", pattern: "/v1/overview", needs: Read, allBots: true, handle: s.getOverview},
		{method: "GET", pattern: "/v1/attention", needs: Read, handle: s.getAttention},
		{method: "GET", pattern: "/v1/audit", needs: Admin, handle: s.getAudit},
		{method: "GET", pattern: "/v1/bots/{bot}/channels", needs: Read, handle: s.getChannels},
		{method: "GET", pattern: list, needs: Read, handle: s.getConversations},
		{method: "GET", pattern: "/v1/conversations", needs: Read, handle: s.getConversations},

		{method: "GET", pattern: one + "/events", needs: Read, handle: s.getConversationEvents, stream: true},
		{method: "GET", pattern: "/v1/events", needs: Read, handle: s.getEvents, stream: true},

		{method: "POST", pattern: "/channels/{bot}/{kind}", handle: s.serveChannel, access: signed},
		{method: "GET", pattern: "/channels/{bot}/{kind}", handle: s.serveChannel, access: signed},
		{method: "POST", pattern: "/channels/{bot}/{kind}/{name}", handle: s.serveChannel, access: signed},
		{method: "GET", pattern: "/channels/{bot}/{kind}/{name}", handle: s.serveChannel, access: signed},

		{method: "POST", pattern: "/console/login", handle: s.postLogin, access: sameOrigin},
		{method: "POST", pattern: "/console/logout", handle: s.postLogout, access: sameOrigin},
		{method: "GET", pattern: "/console/session", handle: s.getSession, access: public},

		{method: "GET", pattern: "/demo/settings", needs: Read, allBots: true, handle: s.getDemoSettings},
		{method: "PUT", pattern: "/demo/settings", needs: Operate, allBots: true, handle: s.putDemoSettings},

		{method: "GET", pattern: "/healthz", handle: s.getHealth, access: public},
		{method: "GET", pattern: "/readyz", handle: s.getReady, access: public},
		{method: "GET", pattern: "/metrics", needs: Read, allBots: true, handle: s.getMetrics},
		{method: "GET", pattern: "/openapi.json", handle: s.getDescription, access: public},
	}
}
