// Sends what is refused unread, goes on writing, and calls again over the same agent. Prints one line of JSON for each
// kind of refusal: how many answers and how many next calls were right, and the first thing that went wrong.
import http from "node:http";

const { url, key, rounds, refusals } = JSON.parse(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

// As a client that learns of an answer only when it has written all: in pieces, whatever comes meanwhile.
function call(method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const length = body.length ? { "Content-Length": body.length } : {};
    const request = http.request(url + path, { method, agent, headers: { ...headers, ...length } }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () => resolve([answer.statusCode, Buffer.concat(parts).toString()]));
    });
    request.on("error", reject);
    for (let at = 0; at < body.length; at += 50_000) request.write(body.subarray(at, at + 50_000));
    request.end();
  });
}

async function fetched(method, path, headers, body) {
  const answer = await fetch(url + path, { method, headers, body: body.length ? body : undefined });
  return [answer.status, await answer.text()];
}

async function tried(way, { status, path, with_key, type, size }) {
  const found = { way: way.name, status, refused: 0, next: 0, wrong: null };
  const body = Buffer.alloc(size, 120);
  const own = { "X-API-KEY": key };
  for (let i = 0; i < rounds; i++) {
    try {
      const [first, text] = await way("POST", path, { "Content-Type": type, ...(with_key ? own : {}) }, body);
      if (first === status && JSON.parse(text).status === status) found.refused++;
      const [second] = await way("GET", "/v1/whoami", own, Buffer.alloc(0));
      if (second === 200) found.next++;
    } catch (error) {
      found.wrong ??= `${error} ${error.cause ?? ""}`;
    }
  }
  return found;
}

for (const way of [call, fetched])
  for (const refusal of refusals) console.log(JSON.stringify(await tried(way, refusal)));
agent.destroy();
