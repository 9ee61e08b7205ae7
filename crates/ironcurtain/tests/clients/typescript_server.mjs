// A server built on the official TypeScript SDK of MCP, over streamable HTTP in TLS.
// Its arguments are the files with its certificate and its key. It prints its port, and then what happens.
// The environment variable PACKAGES names the directory that scripts/test-packages printed.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [{ Server }, { StreamableHTTPServerTransport }, types] = await Promise.all(
  ["server/index.js", "server/streamableHttp.js", "types.js"].map(load),
);
const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const names = ["echo", "steps", "wait", "sample", "elicit", "cut", "murmur", "hush"];
const tools = names.map((name) => ({ name, inputSchema: schema }));
const transports = new Map();

// What was said on each stream, so that whoever was cut off can hear the rest of it.
class EventStore {
  events = [];

  async storeEvent(stream, message) {
    this.events.push({ stream, message });
    return `event-${this.events.length}`;
  }

  async replayEventsAfter(last, { send }) {
    const heard = Number(last.replace("event-", ""));
    const { stream } = this.events[heard - 1];
    for (const [at, event] of this.events.entries()) {
      // What opens a stream holds no message.
      if (heard <= at && event.stream === stream && event.message.jsonrpc !== undefined) {
        await send(`event-${at + 1}`, event.message);
      }
    }
    return stream;
  }

  async getStreamIdForEventId(id) {
    return this.events[Number(id.replace("event-", "")) - 1]?.stream;
  }
}

function load(path) {
  const sdk = join(process.env.PACKAGES, "node_modules/@modelcontextprotocol/sdk/dist/esm");
  return import(pathToFileURL(join(sdk, path)));
}

function makeServer() {
  const server = new Server({ name: "official", version: "1" }, { capabilities: { tools: {}, logging: {} } });
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(types.CallToolRequestSchema, async ({ params }, extra) => {
    const say = (text) => ({ content: [{ type: "text", text }] });
    if (params.name === "echo") {
      return say(params.arguments.text);
    }
    if (params.name === "steps") {
      const progressToken = params._meta.progressToken;
      const progress = { progressToken, progress: 1, total: 2 };
      await extra.sendNotification({ method: "notifications/progress", params: progress });
      return say(`stepped ${params.arguments.text}`);
    }
    if (params.name === "cut") {
      // The answer is given after the stream has ended.
      console.log("cut");
      extra.closeSSEStream();
      return say(`heard after all: ${params.arguments.text}`);
    }
    if (params.name === "murmur" || params.name === "hush") {
      // Said on the stream that belongs to no request; hushed, while there is none.
      if (params.name === "hush") {
        extra.closeStandaloneSSEStream();
      }
      const message = { level: "error", data: params.arguments.text };
      await server.notification({ method: "notifications/message", params: message });
      return say("said");
    }
    if (params.name === "sample") {
      const content = { type: "text", text: params.arguments.text };
      const request = { messages: [{ role: "user", content }], maxTokens: 9 };
      const method = "sampling/createMessage";
      const sampled = await extra.sendRequest({ method, params: request }, types.CreateMessageResultSchema);
      return say(`the model said ${sampled.content.text}`);
    }
    if (params.name === "elicit") {
      const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
      const request = { method: "elicitation/create", params: { message: params.arguments.text, requestedSchema } };
      const filled = await extra.sendRequest(request, types.ElicitResultSchema);
      return say(`the person said ${JSON.stringify(filled)}`);
    }
    console.log("waits");
    await new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
    console.log("was cancelled");
    return say("too late");
  });
  return server;
}

async function transportFor(request) {
  const known = transports.get(request.headers["mcp-session-id"]);
  if (known !== undefined) {
    return known;
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: new EventStore(),
    retryInterval: 100,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: () => console.log("session ended"),
  });
  await makeServer().connect(transport);
  return transport;
}

const [cert, key] = process.argv.slice(2).map((path) => readFileSync(path));
const server = createServer({ cert, key }, async (request, response) => {
  const transport = await transportFor(request);
  if (request.method === "GET") {
    console.log(`listens after ${request.headers["last-event-id"] ?? "nothing"}`);
  }
  await transport.handleRequest(request, response);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
