// Receives replies from onereply and hands each on once. Node 20 or later.
//
//   DELIVERY_SECRET=whsec_... node receiver.mjs 9000
//
// delivery: {kind: webhook, url: "http://127.0.0.1:9000/", secret: "${DELIVERY_SECRET}", parts: separate}
import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const key = Buffer.from(process.env.DELIVERY_SECRET.replace(/^whsec_/, ""), "base64");
const folder = process.env.SEEN ?? "seen";
mkdirSync(folder, { recursive: true });

// Whether onereply signed these very bytes within the last five minutes.
function signed(headers, body) {
  const stamp = Number(headers["webhook-timestamp"]);
  if (!(Math.abs(Date.now() / 1000 - stamp) <= 300)) return false;
  const hmac = createHmac("sha256", key).update(`${headers["webhook-id"]}.${stamp}.`).update(body);
  const want = Buffer.from("v1," + hmac.digest("base64"));
  return (headers["webhook-signature"] ?? "").split(" ").some((each) => {
    const offered = Buffer.from(each);
    return offered.length === want.length && timingSafeEqual(offered, want);
  });
}

// One file for each reply taken; in production a table with a unique key. Bot
// and id together are the key: bots may share conversation names.
const mark = (bot, id) => `${folder}/${encodeURIComponent(bot)}:${encodeURIComponent(id)}`;

function firstTime(bot, id) {
  try {
    writeFileSync(mark(bot, id), "", { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

// Put your channel's send call here: the address leads back to the chat.
async function send(address, parts) {
  console.log(JSON.stringify({ to: address, parts }));
}

async function take(headers, body) {
  if (!signed(headers, body)) return 401;
  const { type, data } = JSON.parse(body);
  if (type === "notice") await send(data.address, [data.text]); // told once, and no reply
  if (type !== "reply") return 200; // "typing": show it, if your channel can; it is no reply either
  const id = headers["webhook-id"];
  if (!firstTime(data.bot, id)) return 200; // a repeat: it was sent
  try {
    await send(data.address, data.parts);
  } catch (error) {
    if (error.code !== "ECONNREFUSED") throw error;
    rmSync(mark(data.bot, id)); // certainly not sent
    return 503;
  }
  return 200;
}

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const status = await take(request.headers, Buffer.concat(pieces)).catch((error) => (console.error(error), 500));
  response.writeHead(status).end();
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
