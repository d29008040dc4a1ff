import { expect, test } from 'bun:test';
import { Secret } from '../core/secret.ts';
import { type Incoming, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import type { Provider } from '../providers/provider.ts';
import { findProvider } from '../providers/registry.ts';
import type { ProviderCallDeps } from '../relay/provider-call.ts';
import type { Backend, Place } from './backends/backend.ts';
import { bedrock } from './backends/bedrock.ts';
import { openai } from './backends/openai.ts';
import { vertex } from './backends/vertex.ts';
import { JobFault, upload } from './upload.ts';

const EXAMPLE = {
  messages: [
    { role: 'user', content: 'Grüezi' },
    { role: 'assistant', content: 'Hoi' },
  ],
};
const GEMINI = '{"contents":[{"role":"user","parts":[{"text":"Grüezi"}]},{"role":"model","parts":[{"text":"Hoi"}]}]}\n';

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
}

/** A way out that takes everything, and keeps it. A body that breaks off breaks the exchange, as over a connection. */
function recording(answer: unknown) {
  const sent: Sent[] = [];
  const upstream: Upstream = {
    open: 0,
    send: async ({ method, url, headers, body }) => {
      const text = await new Response(body as RequestInit['body']).text().catch(() => {
        throw new UpstreamFailure({ host: 'h', phase: 'first byte', kind: 'broken', sent: 'maybe', why: 'it broke' });
      });
      sent.push({ method, url, headers: new Headers(headers.toJSON()), text });
      return incoming(answer);
    },
  };
  return { sent, upstream };
}

function incoming(answer: unknown): Incoming {
  const pieces = [new TextEncoder().encode(JSON.stringify(answer))];
  const read = async () => pieces.shift() ?? null;
  return {
    status: 200,
    statusText: 'OK',
    headers: new Headers(),
    read,
    bytes: async () => (await read()) ?? new Uint8Array(),
    cancel: () => {},
  };
}

/** Cut at every third byte: also inside characters and lines. */
const inPieces = (text: string) => {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + 3));
      at += 3;
    },
  });
};

async function uploading(backend: Backend, name: string, text: string, place: Partial<Place> = {}) {
  const { sent, upstream } = recording({ id: 'file-remote' });
  const deps: ProviderCallDeps = {
    upstream,
    simulate: () => Promise.reject(new Error('nothing is simulated')),
    tokens: { get: () => Promise.reject(new Error('no token')), postForm: () => Promise.reject(new Error('no token')) },
    now: () => 1_790_000_000_000,
  };
  const provider = findProvider(name) as Provider;
  const options = place.options ?? {};
  const behind = {
    backend,
    place: { options: {}, tuning: {}, hasCustomHost: false, ...place },
    target: {
      provider,
      credential: new Secret('AKIAFAKEFAKEFAKEFAKE:not-a-secret'),
      options,
      customHost: null,
      headers: null,
      virtualKey: 'k',
      limits: [],
      prices: null,
      identity: '@k',
    },
  };
  const bytes = new TextEncoder().encode(text).length;
  const work = upload(
    {
      file: { name: 'gw-file', bytes },
      method: 'supervised',
      param: 'training_file',
      open: async () => inPieces(text),
    },
    behind,
    deps,
    new AbortController().signal,
  );
  return { name: await work, sent: sent[0]! };
}

const lines = (...examples: unknown[]) => examples.map((each) => `${JSON.stringify(each)}\n`).join('');

test('a form has the length that it says, and the file as it is', async () => {
  const text = lines(EXAMPLE, EXAMPLE);
  const { name, sent } = await uploading(openai, 'openai', text);

  expect(name).toBe('file-remote');
  expect([sent.method, sent.url]).toEqual(['POST', 'https://api.openai.com/v1/files']);
  expect(sent.headers.get('content-length')).toBe(String(new TextEncoder().encode(sent.text).length));
  const headers = { 'content-type': sent.headers.get('content-type')! };
  const form = await new Response(sent.text, { headers }).formData();
  expect(form.get('purpose')).toBe('fine-tune');
  const file = form.get('file') as File;
  expect([file.name, await file.text()]).toEqual(['gw-file.jsonl', text]);
});

test("examples go to Google's bucket in Gemini's format, wherever the pieces are cut", async () => {
  const place = { tuning: { storage_uri: 'gs://tuning' }, options: { vertex_auth_type: 'basic' } };
  const { name, sent } = await uploading(vertex, 'vertex-ai', `${lines(EXAMPLE)}\n${JSON.stringify(EXAMPLE)}`, place);

  expect(name).toBe('gs://tuning/gw-file.jsonl');
  expect(sent.url).toStartWith('https://storage.googleapis.com/upload/storage/v1/b/tuning/o?');
  expect(sent.text).toBe(GEMINI + GEMINI);
  expect(sent.headers.has('content-length')).toBe(false);
});

test("examples go to Amazon's bucket in Bedrock's format, under a signature for that service", async () => {
  const place = { tuning: { storage_uri: 's3://tuning/jobs' }, options: { aws_region: 'eu-central-1' } };
  const { name, sent } = await uploading(bedrock, 'bedrock', lines(EXAMPLE), place);

  expect(name).toBe('s3://tuning/jobs/gw-file.jsonl');
  expect([sent.method, sent.url]).toEqual(['PUT', 'https://s3.eu-central-1.amazonaws.com/tuning/jobs/gw-file.jsonl']);
  expect(sent.headers.get('authorization')).toContain('/eu-central-1/s3/aws4_request');
  expect(JSON.parse(sent.text)).toMatchObject({ schemaVersion: 'bedrock-conversation-2024' });
});

test('an example that cannot be translated is named by its line, and so is a line that is no JSON', async () => {
  const place = { tuning: { storage_uri: 'gs://tuning' }, options: { vertex_auth_type: 'basic' } };
  const fault = (text: string) => uploading(vertex, 'vertex-ai', text, place).catch((error: unknown) => error);

  const bad = await fault(lines(EXAMPLE, { messages: [{ role: 'tool', content: 'x' }] }));
  expect(bad).toBeInstanceOf(JobFault);
  expect((bad as JobFault).error).toEqual({
    code: 'invalid_training_file',
    message: 'Line 2: messages[0].role must be system, user or assistant for this provider.',
    param: 'training_file',
  });
  expect(((await fault(`${lines(EXAMPLE)}not json`)) as JobFault).error.message).toBe('Line 2: it is not valid JSON.');
});
