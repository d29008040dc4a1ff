/** The model provider of the bench: answers at once, with the same bytes every time, after reading the whole body. */
import { prose } from './prompt.ts';

const usage = { prompt_tokens: 74, completion_tokens: 46, total_tokens: 120 };
const head = { id: 'chatcmpl-bench0000000000000000001', created: 1_760_000_000, model: 'gpt-4o-mini-2024-07-18' };

const completion = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: prose(230, 11), refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
    service_tier: 'default',
    system_fingerprint: 'fp_bench',
  }),
);

const event = (more: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`);
const delta = (content: string): Buffer =>
  event({ system_fingerprint: 'fp_bench', choices: [{ index: 0, delta: { content }, finish_reason: null }] });

const chunks = prose(400, 13)
  .split(' ')
  .map((word) => delta(` ${word}`));
const finish = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const lastUsage = event({ choices: [], usage });
const done = Buffer.from('data: [DONE]\n\n');

function stream(request: Request, body: Buffer): Response {
  const { max_tokens: count, seed: everyMs, stream_options } = JSON.parse(body.toString());
  const chunkStream = new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      // Chunks are spaced out, as a model spaces them: chunks written at once would be relayed as one.
      for (let sent = 0; sent < count && !request.signal.aborted; sent++) {
        controller.write(chunks[sent % chunks.length]!);
        await controller.flush();
        await Bun.sleep(everyMs);
      }
      if (request.signal.aborted) return;
      controller.write(finish);
      if (stream_options?.include_usage) controller.write(lastUsage);
      controller.write(done);
      controller.close();
    },
  });
  return new Response(chunkStream, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } });
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2] ?? 0),
  idleTimeout: 0,
  routes: { '/ready': () => new Response('ready') },
  async fetch(request) {
    const body = Buffer.from(await request.arrayBuffer());
    if (body.includes('"stream":true')) return stream(request, body);
    return new Response(completion, { headers: { 'content-type': 'application/json', 'x-request-id': 'req_bench' } });
  },
});

console.log(`bench upstream on ${server.url}`);
