// A host built on the official TypeScript SDK of MCP, as a program that a test can start.
// It does what it is told and reports what the SDK made of it; it checks nothing itself, so a test
// sees exactly what the people behind a real host would see.
//
// Its only argument is a JSON document:
//   {"command": "...", "args": [...], "env": {...}, "sdk": 1, "era": "legacy",
//    "steps": [{"list": true} | {"call": "tool", "arguments": {...}} | {"ping": true}
//              | {"follow": "tool", "arguments": {...}} | {"abandon": "tool", "arguments": {...}}]}
// `follow` reports the progress of a call too; `abandon` takes a call back once it has heard of progress.
// `sdk` and `era` are optional. Generation 1 is what most hosts are built on, and knows only
// `initialize`; generation 2 also knows the eras "auto" (which starts the server once more, to ask
// it with `server/discover`) and "modern" (which insists on 2026-07-28).
// The environment variable PACKAGES names the directory that scripts/test-packages printed.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const REQUEST_MS_MAX = 120_000;
const GENERATIONS = {
  1: ["sdk/dist/esm/client/index.js", "sdk/dist/esm/client/stdio.js"],
  2: ["client/dist/index.mjs", "client/dist/stdio.mjs"],
};
const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };

const document = JSON.parse(process.argv[2]);
const generation = document.sdk ?? 1;
const [{ Client }, { StdioClientTransport }] = await Promise.all(GENERATIONS[generation].map(load));

const client = new Client(
  { name: "typescript-client", version: "1.0.0" },
  generation === 2 ? { versionNegotiation: { mode: MODES[document.era ?? "legacy"] } } : {},
);
const { command, args = [], env = {} } = document;
const transport = new StdioClientTransport({ command, args, env });
// The only place where both generations tell which version was agreed on.
let protocol;
transport.setProtocolVersion = (version) => {
  protocol = version;
};

await client.connect(transport, { timeout: REQUEST_MS_MAX });
const { name, version } = client.getServerVersion() ?? {};
const steps = [];
for (const step of document.steps) {
  steps.push(await outcome(step));
}
await client.close();
// In the era without a handshake a server need not say who it is.
const server = name === undefined ? null : { name, version };
console.log(JSON.stringify({ server, protocol, steps }));

function load(path) {
  return import(pathToFileURL(join(process.env.PACKAGES, "node_modules/@modelcontextprotocol", path)));
}

async function outcome(step) {
  try {
    return await take(step);
  } catch (error) {
    // Without a number: the SDK itself refused, in generation 2 also because nothing came in time.
    const code = Number.isInteger(error.code) ? error.code : null;
    return { error: { code, message: error.message } };
  }
}

async function take(step) {
  const options = { timeout: REQUEST_MS_MAX };
  if (step.list) {
    const names = [];
    let cursor;
    do {
      const page = await client.listTools(cursor === undefined ? undefined : { cursor }, options);
      names.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return { tools: names };
  }
  if (step.call !== undefined) {
    return { result: await call(step.call, step.arguments, options) };
  }
  if (step.follow !== undefined) {
    const progress = [];
    const onprogress = (heard) => progress.push([heard.progress, heard.total]);
    const result = await call(step.follow, step.arguments, { ...options, onprogress });
    return { result, progress };
  }
  if (step.abandon !== undefined) {
    const giving = new AbortController();
    const onprogress = () => giving.abort("nobody waits any more");
    const abandoned = { ...options, onprogress, signal: giving.signal };
    try {
      await call(step.abandon, step.arguments, abandoned);
      return { abandoned: false };
    } catch (error) {
      if (!giving.signal.aborted) {
        throw error;
      }
      return { abandoned: true };
    }
  }
  if (step.ping) {
    await client.ping(options);
    return { pong: true };
  }
  throw new Error(`there is no such step: ${JSON.stringify(step)}`);
}

function call(name, args, options) {
  // Generation 1 takes the shape of the result as second argument.
  const rest = generation === 1 ? [undefined, options] : [options];
  return client.callTool({ name, arguments: args }, ...rest);
}
