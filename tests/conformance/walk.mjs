// Drives `handrail serve` through one whole run with a client of others, and prints all it saw as one JSON object.
// Two of them are connected, so that one hears what the other does.
//
// The only argument is a file in the folder whose packages are used. Stdin has one JSON object:
//   client   "auto" or "legacy" (@modelcontextprotocol/client in that mode), or "sdk" (@modelcontextprotocol/sdk)
//   server   command, args, cwd and env of a server that each client starts for itself
//   url      where a server listens already; then there is no `server`
//   start    the call that starts the run; the others go to the first tool that is listed
//   refused  an output that is handed in first, and must not move the run
//   outputs  the outputs that lead the run to its end, in order
//   status   the address of the run's status, up to its id
//   prompt   which prompt is got
//   complete which argument is completed
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const need = createRequire(process.argv[2]);
const job = JSON.parse(readFileSync(0, "utf8"));
const LONGEST = 20_000; // milliseconds that a notification may take before it counts as lost

const KINDS = {
  auto: () => modern("auto"),
  legacy: () => modern("legacy"),
  sdk: older,
};

function modern(mode) {
  const { Client, StreamableHTTPClientTransport } = need("@modelcontextprotocol/client");
  const { StdioClientTransport } = need("@modelcontextprotocol/client/stdio");
  const client = new Client({ name: "walk", version: "1" }, { versionNegotiation: { mode } });
  const transport = transported(StreamableHTTPClientTransport, StdioClientTransport);
  return { client, transport, updated: "notifications/resources/updated" };
}

function older() {
  const { Client } = need("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = need("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = need("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ResourceUpdatedNotificationSchema } = need("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: "walk", version: "1" });
  const transport = transported(StreamableHTTPClientTransport, StdioClientTransport);
  return { client, transport, updated: ResourceUpdatedNotificationSchema };
}

function transported(Http, Stdio) {
  return job.url ? new Http(new URL(job.url)) : new Stdio(job.server);
}

async function connected() {
  const { client, transport, updated } = KINDS[job.client]();
  const heard = new Map();
  const hear = (uri) => {
    if (!heard.has(uri)) heard.set(uri, deferred());
    return heard.get(uri);
  };
  client.setNotificationHandler(updated, ({ params }) => hear(params.uri).resolve(params.uri));
  await client.connect(transport);
  return { client, heard: (uri) => within(hear(uri).promise, `no word of ${uri}`) };
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}

function within(promise, message) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(message)), LONGEST)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function subscribe({ client }, uri) {
  if (client.getProtocolEra?.() === "modern") await client.listen({ resourceSubscriptions: [uri] });
  else await client.subscribeResource({ uri });
}

async function call({ client }, name, args) {
  const { isError = false, structuredContent, content } = await client.callTool({ name, arguments: args });
  return { failed: isError, reply: structuredContent, text: content.map((part) => part.text).join("\n") };
}

async function read({ client }, uri) {
  const { contents } = await client.readResource({ uri });
  return JSON.parse(contents[0].text);
}

async function codeOf(asked) {
  try {
    await asked;
  } catch (error) {
    return error.code;
  }
  return null;
}

async function walk() {
  const [agent, other] = await Promise.all([connected(), connected()]);
  const { tools } = await agent.client.listTools();
  const started = await call(agent, job.start.name, job.start.arguments);
  const hand = (token, output) => call(agent, tools[0].name, { step_token: token, model_output_so_far: output });
  const token = started.reply.new_step_token;
  const refused = await hand(token, job.refused);

  const uri = job.status + started.reply.execution_id;
  await Promise.all([subscribe(agent, uri), subscribe(other, uri)]);
  const replies = [await hand(token, job.outputs[0])];
  const heard = await Promise.all([agent.heard(uri), other.heard(uri)]);
  for (const output of job.outputs.slice(1)) replies.push(await hand(replies.at(-1).reply.new_step_token, output));

  const seen = {
    version: agent.client.getNegotiatedProtocolVersion?.() ?? null,
    server: agent.client.getServerVersion(),
    instructions: agent.client.getInstructions(),
    tools,
    started,
    refused,
    heard,
    replies,
    status: await read(other, uri),
    prompt: await agent.client.getPrompt(job.prompt),
    completed: (await agent.client.complete(job.complete)).completion.values,
    missing: await codeOf(agent.client.readResource({ uri: `${job.status}none` })),
    unknown: await codeOf(agent.client.callTool({ name: "no_such_tool", arguments: {} })),
  };
  await Promise.all([agent.client.close(), other.client.close()]);
  return seen;
}

console.log(JSON.stringify(await walk()));
