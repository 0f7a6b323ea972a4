"""Receives replies from onereply and hands each on once.

    DELIVERY_SECRET=whsec_... python3 receiver.py 9000

delivery: {kind: webhook, url: "http://127.0.0.1:9000/", secret: "${DELIVERY_SECRET}", parts: separate}
"""
import base64, hashlib, hmac, json, os, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["DELIVERY_SECRET"].removeprefix("whsec_"))
seen = sqlite3.connect(os.environ.get("SEEN", "seen.db"), isolation_level=None)
seen.execute("CREATE TABLE IF NOT EXISTS seen (bot TEXT, id TEXT, PRIMARY KEY (bot, id))")


def signed(headers, body):
    """Whether onereply signed these very bytes within the last five minutes."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > 300:
        return False
    text = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    want = b"v1," + base64.b64encode(hmac.new(KEY, text, hashlib.sha256).digest())
    offered = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(want, each) for each in offered)


def first_time(bot, webhook_id):
    """Whether this was never taken before. The two together are the key: bots may share conversation names."""
    return seen.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (bot, webhook_id)).rowcount == 1


def forget(bot, webhook_id):
    seen.execute("DELETE FROM seen WHERE bot = ? AND id = ?", (bot, webhook_id))


def send(address, parts):
    """Put your channel's send call here: the address leads back to the chat."""
    print(json.dumps({"to": address, "parts": parts}), flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(self.handle_reply(body))
        self.send_header("content-length", "0")
        self.end_headers()

    def handle_reply(self, body):
        if not signed(self.headers, body):
            return 401
        document = json.loads(body)
        data = document["data"]
        if document["type"] == "notice":
            send(data["address"], [data["text"]])  # told once, and no reply
        if document["type"] != "reply":
            return 200  # "typing": show it, if your channel can; it is no reply either
        key = data["bot"], self.headers["webhook-id"]
        if not first_time(*key):
            return 200  # a repeat: it was sent
        try:
            send(data["address"], data["parts"])
        except ConnectionRefusedError:  # certainly not sent
            forget(*key)
            return 503
        return 200

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
