package server

// routes is the whole API. Each line is described in openapi.json, and a test holds the
// two together. The access is [byKey] where a line names none, so a new call is closed
// until somebody opens it. Calls of operators are audited, with who made them. Those of
// channels and agents are the daily traffic, and are not. The order does not matter,
// since no path fits two patterns of one method.
func (s *Server) routes() []*route {
	const (
		list  = "/v1/bots/{bot}/conversations"
		one   = list + "/{conversation}"
		alias = "/v1/bots/{bot}/aliases/{alias}"
	)
	return []*route{
		{method: "POST", pattern: one + "/messages", handle: s.postMessage},
		{method: "PATCH", pattern: one + "/messages/{id}", handle: s.patchMessage},
		{method: "DELETE", pattern: one + "/messages/{id}", handle: s.deleteMessage},

		{method: "POST", pattern: one + "/typing", handle: s.postTyping},
		{method: "POST", pattern: one + "/turns/{turn}/resend", handle: s.postResend, audited: true},
		{method: "POST", pattern: one + "/turns/{turn}/mark-sent", handle: s.postMarkSent, audited: true},
		{method: "POST", pattern: one + "/flush", handle: s.postFlush, audited: true},
		{method: "POST", pattern: one + "/pause", handle: s.postPause, audited: true},
		{method: "POST", pattern: one + "/resume", handle: s.postResume, audited: true},
		{method: "POST", pattern: one + "/reset", handle: s.postReset, audited: true},
		{method: "POST", pattern: one + "/move", handle: s.postMove, audited: true},
		{method: "PUT", pattern: alias, handle: s.putAlias, audited: true},
		{method: "GET", pattern: alias, handle: s.getAlias},
		{method: "DELETE", pattern: alias, handle: s.deleteAlias, audited: true},
		{method: "POST", pattern: one + "/replies", handle: s.postReply, audited: true},
		{method: "POST", pattern: one + "/replies/{turn}/status", handle: s.postReplyStatus},
		{method: "POST", pattern: one + "/requeue", handle: s.postRequeue, audited: true},
		{method: "POST", pattern: one + "/turns/{token}/seal", handle: s.postSeal},

		{method: "GET", pattern: one, handle: s.getState},
		{method: "DELETE", pattern: one, handle: s.deleteConversation, audited: true},
		{method: "GET", pattern: one + "/transcript", handle: s.getTranscript},
		{method: "GET", pattern: one + "/timeline", handle: s.getTimeline},
		{method: "GET", pattern: one + "/audit", handle: s.getAudit},
		{method: "GET", pattern: "/v1/overview", handle: s.getOverview},
		{method: "GET", pattern: "/v1/attention", handle: s.getAttention},
		{method: "GET", pattern: "/v1/audit", handle: s.getAudit},
		{method: "GET", pattern: list, handle: s.getConversations},
		{method: "GET", pattern: "/v1/conversations", handle: s.getConversations},

		{method: "GET", pattern: one + "/events", handle: s.getConversationEvents, stream: true},
		{method: "GET", pattern: "/v1/events", handle: s.getEvents, stream: true},

		{method: "POST", pattern: "/console/login", handle: s.postLogin, access: sameOrigin},
		{method: "POST", pattern: "/console/logout", handle: s.postLogout, access: sameOrigin},
		{method: "GET", pattern: "/console/session", handle: s.getSession, access: public},

		{method: "GET", pattern: "/demo/settings", handle: s.getDemoSettings},
		{method: "PUT", pattern: "/demo/settings", handle: s.putDemoSettings},

		{method: "GET", pattern: "/healthz", handle: s.getHealth, access: public},
		{method: "GET", pattern: "/readyz", handle: s.getReady, access: public},
		{method: "GET", pattern: "/metrics", handle: s.getMetrics},
		{method: "GET", pattern: "/openapi.json", handle: s.getDescription, access: public},
	}
}
