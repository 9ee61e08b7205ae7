// An MCP server whose resources are whatever a URL leads to, as Node reads URLs.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

function read(uri) {
  const url = new URL(uri);
  if (url.protocol !== "file:") throw new Error("no file");
  return readFileSync(url, "utf8");
}

function answer(method, params) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        serverInfo: { name: "urls", version: "1" },
        capabilities: { tools: {}, resources: { subscribe: true }, completions: {} },
      };
    case "resources/read":
    case "resources/subscribe":
      return { contents: [{ uri: params.uri, text: read(params.uri) }] };
    case "completion/complete":
      return { completion: { values: [read(params.ref.uri)] } };
    default:
      return { tools: [], resources: [], resourceTemplates: [] };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  const reply = { jsonrpc: "2.0", id: message.id };
  try {
    reply.result = answer(message.method, message.params ?? {});
  } catch (error) {
    reply.error = { code: -32000, message: "cannot read it" };
  }
  console.log(JSON.stringify(reply));
}
