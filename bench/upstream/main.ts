/**
 * The model providers of the bench: answer at once, with the same bytes every time, after reading the whole body.
 * Arguments: the port, the port for TLS, and the file to write its certificate to.
 */
import { writeFileSync } from 'node:fs';
import { selfSignedCertificate } from '../../test/certificate.ts';
import { anthropic } from './anthropic.ts';
import type { Asked, Canned } from './canned.ts';
import { answerEmbeddings } from './embeddings.ts';
import { openai, searches } from './openai.ts';

const DEFAULT_PACE_MS = 8;
const json = { 'content-type': 'application/json', 'x-request-id': 'req_bench' };
const overloaded = Buffer.from(
  JSON.stringify({ error: { message: 'The model is overloaded.', type: 'server_error', param: null, code: null } }),
);

const toolResult = Buffer.from(
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: {
      resultType: 'complete',
      content: [{ type: 'text', text: 'Sunny, 21 degrees, little wind. '.repeat(16) }],
    },
  }),
);

function stream(canned: Canned, request: Request, body: Buffer): Response {
  const asked = JSON.parse(body.toString()) as Asked;
  const { max_tokens: count, seed: everyMs = DEFAULT_PACE_MS } = asked;
  const chunkStream = new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      for (const piece of canned.opening) controller.write(piece);
      // Chunks are spaced out, as a model spaces them: chunks written at once would be relayed as one.
      for (let sent = 0; sent < count && !request.signal.aborted; sent++) {
        controller.write(canned.chunks[sent % canned.chunks.length]!);
        await controller.flush();
        await Bun.sleep(everyMs);
      }
      if (request.signal.aborted) return;
      for (const piece of canned.ending(asked)) controller.write(piece);
      controller.close();
    },
  });
  return new Response(chunkStream, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } });
}

async function answer(canned: Canned, request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer());
  return body.includes('"stream":true') ? stream(canned, request, body) : new Response(canned.whole, { headers: json });
}

/** A model that uses its tool once, if it has one. */
async function answerWithTool(request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer());
  const calls = body.includes('"tools"') && !body.includes('"role":"tool"');
  return new Response(calls ? searches : openai.whole, { headers: json });
}

async function refuse(request: Request): Promise<Response> {
  await request.arrayBuffer();
  return new Response(overloaded, { status: 503, headers: json });
}

/** A tool's answer, whichever was called. */
async function answerMcp(request: Request): Promise<Response> {
  await request.arrayBuffer();
  return new Response(toolResult, { headers: json });
}

const TOOLS = 25;
/** As large as definitions usually are. */
const offered = Array.from({ length: TOOLS }, (_, number) => ({
  name: `tool_${number}`,
  description: `Number ${number} of what this server can do. ${'It takes a few arguments and answers with a text. '.repeat(6)}`,
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(
      ['city', 'days', 'units'].map((name) => [name, { type: 'string', description: `What ${name} to look at.` }]),
    ),
    required: ['city'],
  },
}));

/** A server of the newer version that offers tools and answers their calls. */
async function offerTools(request: Request): Promise<Response> {
  const { id, method } = (await request.json()) as { id?: unknown; method: string };
  if (id === undefined) return new Response(null, { status: 202 });
  const results: Record<string, object> = {
    'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    'tools/list': { tools: offered, ttlMs: 0, cacheScope: 'private' },
    'tools/call': { content: [{ type: 'text', text: 'Sunny, 21 degrees, little wind.' }] },
  };
  const result = results[method];
  if (!result) return Response.json({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } });
  return Response.json({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } });
}

/** A destination of traces, which takes everything. */
async function takeSpans(request: Request): Promise<Response> {
  await request.arrayBuffer();
  return new Response(null, { headers: { 'content-type': 'application/x-protobuf' } });
}

const [port, securePort, certificateFile] = process.argv.slice(2);
const service = {
  idleTimeout: 0,
  routes: {
    '/ready': () => new Response('ready'),
    '/v1/messages': (request: Request) => answer(anthropic, request),
    '/v1/embeddings': answerEmbeddings,
    '/searching/*': answerWithTool,
    '/overloaded/*': refuse,
    '/mcp': answerMcp,
    '/offering': offerTools,
    '/otlp/*': takeSpans,
  },
  fetch: (request: Request) => answer(openai, request),
};

const { key, cert } = selfSignedCertificate('localhost');
writeFileSync(certificateFile!, cert);
Bun.serve({ ...service, hostname: 'localhost', port: Number(securePort), tls: { key, cert } });
const server = Bun.serve({ ...service, hostname: '127.0.0.1', port: Number(port) });
console.log(`bench upstream on ${server.url}`);
