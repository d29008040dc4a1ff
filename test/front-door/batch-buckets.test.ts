import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { beginBatch, chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { startS3 } from '../s3.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway();
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  openai = openaiClient(gateway.url, key);
});
afterAll(() => gateway.stop());

const clientOf = (slug: string) => openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': slug } });

const jsonLines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const inLines = (values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Cloud Storage and the jobs of Vertex AI, at one address. A job is over when it was asked about twice. */
function startGoogle() {
  const objects = new Map<string, string>();
  const seen: string[] = [];
  const name = 'projects/1/locations/europe-west4/batchPredictionJobs/77';
  // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
  let job: any = null;
  const held = { isHeld: false };
  let polls = 0;
  const predict = () => {
    const folder = `${job.outputConfig.gcsDestination.outputUriPrefix}/prediction-1`;
    const input = job.inputConfig.gcsSource.uris[0].slice('gs://bucket/'.length);
    const predictions = jsonLines(objects.get(input)!).map(({ request }) => {
      const said = request.contents[0].parts[0].text;
      if (said === 'bad')
        return { request, status: 'Bad Request: {"error":{"code":400,"message":"No"}}', response: {} };
      const candidates = [{ content: { role: 'model', parts: [{ text: `To ${said}` }] }, finishReason: 'STOP' }];
      const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
      return { request, status: '', response: { candidates, usageMetadata, modelVersion: 'gemini-2.5-flash' } };
    });
    // In another order than they were asked, and in two files.
    predictions.reverse();
    const path = folder.slice('gs://bucket/'.length);
    objects.set(`${path}/000.jsonl`, inLines(predictions.slice(0, 1)));
    objects.set(`${path}/001.jsonl`, inLines(predictions.slice(1)));
    objects.set(`${path}/summary.txt`, 'not a result');
    job = { ...job, state: 'JOB_STATE_SUCCEEDED', outputInfo: { gcsOutputDirectory: folder } };
  };
  const storage = async (request: Request, url: URL) => {
    const object = decodeURIComponent(url.pathname.split('/o/')[1] ?? '');
    if (url.pathname === '/upload/storage/v1/b/bucket/o') {
      objects.set(url.searchParams.get('name')!, await request.text());
      return Response.json({ name: url.searchParams.get('name') });
    }
    if (object === '') {
      const names = [...objects.keys()].filter((each) => each.startsWith(url.searchParams.get('prefix')!)).sort();
      const start = Number(url.searchParams.get('pageToken') ?? 0);
      const more = start + 2 < names.length ? { nextPageToken: String(start + 2) } : {};
      return Response.json({ items: names.slice(start, start + 2).map((each) => ({ name: each })), ...more });
    }
    if (!objects.has(object)) return Response.json({ error: { code: 404 } }, { status: 404 });
    if (request.method === 'DELETE') {
      objects.delete(object);
      return new Response(null, { status: 204 });
    }
    return new Response(objects.get(object));
  };
  const { origin, stop } = serve(async (request) => {
    const url = new URL(request.url);
    seen.push(`${request.method} ${url.pathname}`);
    if (request.headers.get('authorization') !== 'Bearer access-token')
      return Response.json({ error: { message: 'who are you?' } }, { status: 401 });
    if (url.pathname.includes('/storage/v1/')) return storage(request, url);
    if (url.pathname.endsWith(':cancel')) {
      job = { ...job, state: 'JOB_STATE_CANCELLED' };
      return Response.json({});
    }
    if (request.method === 'POST') {
      job = { ...((await request.json()) as object), name, state: 'JOB_STATE_PENDING' };
      return Response.json(job);
    }
    if (url.pathname !== `/v1/${name}`) return Response.json({ batchPredictionJobs: job ? [job] : [] });
    if (++polls >= 2 && !held.isHeld && job.state !== 'JOB_STATE_CANCELLED') predict();
    return Response.json(job);
  });
  return { origin, objects, seen, held, job: () => job, stop };
}

const vertexKey = (origin: string, slug: string) =>
  gateway.given.virtualKey({
    slug,
    name: slug,
    provider: 'vertex-ai',
    key: 'access-token',
    custom_host: `${origin}/v1`,
    configurations: {
      vertex_region: 'europe-west4',
      vertex_project_id: 'acme',
      batches: 'native',
      batch_storage: { uri: 'gs://bucket/gateway', endpoint: origin },
    },
  });

test('Vertex AI: requests travel through a bucket, answers come back from it, and nothing stays there', async () => {
  const google = startGoogle();
  await vertexKey(google.origin, 'vertex');
  const client = clientOf('vertex');
  const model = { model: 'gemini-2.5-flash' };
  const begun = await beginBatch(client, [
    chatLine('first one', 'Ada', model),
    chatLine('b', 'bad', model),
    chatLine('c', 'Bob', model),
  ]);
  await eventually('the job is there', () => google.job() !== null);
  expect(google.job()).toMatchObject({ displayName: begun.id, model: 'publishers/google/models/gemini-2.5-flash' });
  const batch = await ended(client, begun.id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } });
  const output = await linesIn(client, batch.output_file_id);
  expect(output.map((line) => [line.custom_id, line.response!.body.choices[0].message.content])).toEqual([
    ['first one', 'To Ada'],
    ['c', 'To Bob'],
  ]);
  const [failed] = await linesIn(client, batch.error_file_id);
  expect(failed).toMatchObject({ custom_id: 'b', response: { status_code: 400 } });
  expect(JSON.stringify([batch, output, failed])).not.toContain('gs://');
  await eventually('the bucket is empty', () => google.objects.size === 0);
  google.stop();
});

test('Vertex AI: a cancellation is passed on, and what was not answered says so', async () => {
  const google = startGoogle();
  google.held.isHeld = true;
  await vertexKey(google.origin, 'vertex-held');
  const client = clientOf('vertex-held');
  const begun = await beginBatch(client, [chatLine('a', 'Ada', { model: 'gemini-2.5-flash' })]);
  await eventually('it is being followed', async () => {
    return google.job() !== null && (await client.batches.retrieve(begun.id)).status === 'in_progress';
  });
  expect((await client.batches.cancel(begun.id)).status).toBe('cancelling');
  const batch = await ended(client, begun.id);
  expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 1, completed: 0, failed: 1 } });
  const [left] = await linesIn(client, batch.error_file_id);
  expect(left).toMatchObject({ custom_id: 'a', response: null, error: { code: 'batch_cancelled' } });
  await eventually('the bucket is empty', () => google.objects.size === 0);
  google.stop();
});

/** The jobs of Bedrock over a small S3, which takes no request without a right signature. */
function startAmazon() {
  const s3 = startS3();
  const arn = 'arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abc123def456';
  // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
  let job: any = null;
  let polls = 0;
  const keyOf = (uri: string) => uri.slice(`s3://${s3.bucket}/`.length);
  const answer = () => {
    const input = s3.objects.get(keyOf(job.inputDataConfig.s3InputDataConfig.s3Uri))!;
    const records = jsonLines(new TextDecoder().decode(input.bytes)).map(({ recordId, modelInput }) => {
      const said = modelInput.messages[0].content[0].text;
      if (said === 'bad') return { recordId, modelInput, error: { errorCode: 400, errorMessage: 'bad request' } };
      const message = { role: 'assistant', content: [{ text: `To ${said.slice(0, 20)}` }] };
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      return { recordId, modelInput, modelOutput: { output: { message }, stopReason: 'end_turn', usage } };
    });
    const folder = `${keyOf(job.outputDataConfig.s3OutputDataConfig.s3Uri)}abc123def456/`;
    s3.objects.set(`${folder}input.jsonl.out`, { bytes: Buffer.from(inLines(records)), at: Date.now() });
    s3.objects.set(`${folder}manifest.json.out`, { bytes: Buffer.from('{"totalRecordCount":1}'), at: Date.now() });
    job = { ...job, status: 'Completed' };
  };
  const jobs = serve(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith('/converse'))
      return Response.json({
        output: { message: { role: 'assistant', content: [{ text: 'At once' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      });
    if (request.method === 'POST' && pathname === '/model-invocation-job') {
      job = { ...((await request.json()) as object), jobArn: arn, status: 'Submitted' };
      return Response.json({ jobArn: arn });
    }
    if (++polls >= 2) answer();
    return Response.json(job);
  });
  return {
    s3,
    origin: jobs.origin,
    job: () => job,
    stop: () => {
      jobs.stop();
      s3.stop();
    },
  };
}

const bedrockKey = ({ s3, origin }: ReturnType<typeof startAmazon>, slug: string) =>
  gateway.given.virtualKey({
    slug,
    name: slug,
    provider: 'bedrock',
    key: `${s3.accessKeyId}:${s3.secretAccessKey}`,
    custom_host: origin,
    configurations: {
      aws_region: s3.region,
      batches: 'native',
      batch_storage: {
        uri: `s3://${s3.bucket}/gateway`,
        role_arn: 'arn:aws:iam::123456789012:role/batches',
        endpoint: s3.origin,
      },
    },
  });

test('Bedrock: requests go to S3 in signed parts, answers come from there, and nothing stays', async () => {
  const amazon = startAmazon();
  await bedrockKey(amazon, 'bedrock');
  const client = clientOf('bedrock');
  const model = { model: 'amazon.nova-lite-v1:0' };
  // Together more than one part holds.
  const long = 'x'.repeat(100_000);
  const lines = Array.from({ length: 120 }, (_, at) => chatLine(`n${at}`, at === 7 ? 'bad' : `${at} ${long}`, model));
  const begun = await beginBatch(client, lines);
  const batch = await ended(client, begun.id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 120, completed: 119, failed: 1 } });
  expect(amazon.job()).toMatchObject({
    jobName: begun.id.replace('_', '-'),
    modelId: 'amazon.nova-lite-v1:0',
    modelInvocationType: 'Converse',
  });
  expect(amazon.s3.requests).toContain('POST');
  const output = await linesIn(client, batch.output_file_id);
  expect(output[0]!.response!.body.choices[0].message.content).toStartWith('To 0 x');
  expect(output.map((line) => line.custom_id)).not.toContain('n7');
  const [failed] = await linesIn(client, batch.error_file_id);
  expect(failed).toMatchObject({ custom_id: 'n7', response: { status_code: 400 } });
  await eventually('the bucket is empty', () => amazon.s3.objects.size === 0);
  expect(amazon.s3.uploads.size).toBe(0);
  amazon.stop();
});

test('a batch that the provider would not take as a whole goes through the gateway', async () => {
  const amazon = startAmazon();
  await bedrockKey(amazon, 'bedrock-few');
  const client = clientOf('bedrock-few');
  const model = { model: 'amazon.nova-lite-v1:0' };
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  const many = Array.from({ length: 100 }, (_, at) => `n${at}`);
  for (const lines of [
    // Fewer than it takes, of several models, and with something that its batches do not have.
    ['a', 'b', 'c'].map((name) => chatLine(name, 'Hi', model)),
    many.map((name, at) => chatLine(name, 'Hi', { model: at === 50 ? 'amazon.nova-pro-v1:0' : model.model })),
    many.map((name, at) => chatLine(name, 'Hi', at === 50 ? { ...model, tools } : model)),
  ]) {
    const batch = await ended(client, (await beginBatch(client, lines)).id);
    expect(batch.request_counts).toEqual({ total: lines.length, completed: lines.length, failed: 0 });
    const [first] = await linesIn(client, batch.output_file_id);
    expect(first!.response!.body.choices[0].message.content).toBe('At once');
  }
  expect([amazon.job(), amazon.s3.objects.size]).toEqual([null, 0]);
  amazon.stop();
});

test('what a virtual key says about its bucket is checked when it is saved, and what is missing when it is needed', async () => {
  const made = (batch_storage: unknown, more: object = {}) =>
    gateway.api.post('/v1/virtual-keys', {
      name: 'bucket',
      provider: 'vertex-ai',
      key: 'access-token',
      configurations: { vertex_region: 'europe-west4', vertex_project_id: 'acme', batch_storage, ...more },
    });
  for (const [storage, param] of [
    [{ uri: 'ftp://bucket' }, 'configurations.batch_storage.uri'],
    [{}, 'configurations.batch_storage.uri'],
    [{ uri: 'gs://bucket', role_arn: 'me' }, 'configurations.batch_storage.role_arn'],
    [{ uri: 'gs://bucket', endpoint: 'ftp://x' }, 'configurations.batch_storage.endpoint'],
    [{ uri: 'gs://bucket', color: 'red' }, 'configurations.batch_storage.color'],
  ] as const) {
    const reply = await made(storage);
    expect([reply.status, reply.json.error.param]).toEqual([400, param]);
  }
  const { slug } = (await made({ uri: 's3://bucket' }, { batches: 'native' })).json;
  const file = await uploadLines(openai, [chatLine('a')]);
  const body = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const refused = await gateway.api.post('/v1/batches', body, { headers: { 'x-gateway-virtual-key': slug } });
  expect([refused.status, refused.json.error.param]).toEqual([400, 'configurations.batch_storage.uri']);
});
