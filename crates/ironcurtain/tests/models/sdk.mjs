// Asks a model once with a provider's own SDK, and prints the answer and what it took.
//
// Usage: sdk.mjs anthropic|responses|chat|gemini whole|stream; PACKAGES says where the SDKs are.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.PACKAGES}/x.js`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const [format, mode] = process.argv.slice(2);
const isStream = mode === "stream";
const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

async function anthropic() {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ maxRetries: 0 });
  const asked = {
    model: "claude-sonnet-4-6",
    max_tokens: 64,
    system: "Be brief.",
    messages: [{ role: "user", content: "Say hello." }],
    tools: [{ name: "echo", description: "Echoes.", input_schema: schema }],
  };
  const message = isStream
    ? await client.messages.stream(asked).finalMessage()
    : await client.messages.create(asked);
  return [message.content[0].text, message.usage.input_tokens, message.usage.output_tokens];
}

async function responses() {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ maxRetries: 0 });
  const asked = {
    model: "gpt-5",
    instructions: "Be brief.",
    input: "Say hello.",
    tools: [{ type: "function", name: "echo", parameters: schema, strict: false }],
  };
  if (!isStream) {
    const response = await client.responses.create(asked);
    return [response.output_text, response.usage.input_tokens, response.usage.output_tokens];
  }
  let [text, usage] = ["", null];
  for await (const event of await client.responses.create({ ...asked, stream: true })) {
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type === "response.completed") usage = event.response.usage;
  }
  return [text, usage.input_tokens, usage.output_tokens];
}

async function chat() {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ maxRetries: 0 });
  const asked = {
    model: "gpt-5",
    messages: [{ role: "user", content: "Say hello." }],
    tools: [{ type: "function", function: { name: "echo", parameters: schema } }],
  };
  if (!isStream) {
    const { choices, usage } = await client.chat.completions.create(asked);
    return [choices[0].message.content, usage.prompt_tokens, usage.completion_tokens];
  }
  const stream_options = { include_usage: true };
  let [text, usage] = ["", null];
  for await (const chunk of await client.chat.completions.create({ ...asked, stream: true, stream_options })) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  return [text, usage.prompt_tokens, usage.completion_tokens];
}

async function gemini() {
  const { GoogleGenAI } = await load("@google/genai");
  const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
  const declared = { name: "echo", parametersJsonSchema: schema };
  const asked = {
    model: "gemini-2.5-pro",
    contents: "Say hello.",
    config: { systemInstruction: "Be brief.", temperature: 0.5, tools: [{ functionDeclarations: [declared] }] },
  };
  if (!isStream) {
    const answer = await client.models.generateContent(asked);
    return [answer.text, answer.usageMetadata.promptTokenCount, answer.usageMetadata.candidatesTokenCount];
  }
  let [text, usage] = ["", null];
  for await (const chunk of await client.models.generateContentStream(asked)) {
    text += chunk.text ?? "";
    usage = chunk.usageMetadata ?? usage;
  }
  return [text, usage.promptTokenCount, usage.candidatesTokenCount];
}

const answer = await { anthropic, responses, chat, gemini }[format]();
console.log(["said:", ...answer].join("|"));
