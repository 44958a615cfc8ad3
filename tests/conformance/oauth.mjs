// Calls a tool of a server that asks for tokens, as a client of others that is told nothing of the issuer's places.
// Prints what the call was answered with as one JSON object.
//
// The only argument is a file in the folder whose packages are used. Stdin has one JSON object:
//   client   "auto" or "legacy" (@modelcontextprotocol/client in that mode), or "sdk" (@modelcontextprotocol/sdk)
//   url      where the server listens
//   issuer   who gives out tokens
//   tool     which tool is called
//   given    what it is given
//   scope    what tokens are asked for; without it, what the server says (the old client does not listen to that)
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const need = createRequire(process.argv[2]);
const job = JSON.parse(readFileSync(0, "utf8"));

function parts() {
  if (job.client !== "sdk") {
    const { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } = need("@modelcontextprotocol/client");
    const client = new Client({ name: "oauth", version: "1" }, { versionNegotiation: { mode: job.client } });
    return { client, Provider: ClientCredentialsProvider, Transport: StreamableHTTPClientTransport };
  }
  const { Client } = need("@modelcontextprotocol/sdk/client/index.js");
  const { ClientCredentialsProvider } = need("@modelcontextprotocol/sdk/client/auth-extensions.js");
  const { StreamableHTTPClientTransport } = need("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client({ name: "oauth", version: "1" });
  return { client, Provider: ClientCredentialsProvider, Transport: StreamableHTTPClientTransport };
}

const { client, Provider, Transport } = parts();
const known = { clientId: "robot", clientSecret: "secret", expectedIssuer: job.issuer };
const authProvider = new Provider(job.scope ? { ...known, scope: job.scope } : known);
await client.connect(new Transport(new URL(job.url), { authProvider }));
const answered = await client.callTool({ name: job.tool, arguments: job.given });
await client.close();
console.log(JSON.stringify(answered.structuredContent));
