import { serve } from '../gateway.ts';

/** What a model answers in one call. */
export interface ScriptedAnswer {
  /** In this order; calls in pieces of their arguments. */
  readonly parts?: readonly (
    | { readonly text: string }
    | { readonly thought: string }
    | { readonly refusal: string }
    | { readonly call: string; readonly arguments: string; readonly id?: string }
  )[];
  readonly finish?: 'stop' | 'length' | 'content_filter' | 'tool_calls';
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  /** Instead of an answer. */
  readonly status?: number;
  readonly error?: { readonly message: string; readonly code?: string };
  /** After so many chunks the connection dies, nothing more comes, or an error does. */
  readonly cutAfter?: number;
  readonly stallAfter?: number;
  readonly failAfter?: number;
  readonly chunkDelayMs?: number;
  readonly delayMs?: number;
  /** The answer as one JSON document, though a stream was asked for. */
  readonly isWhole?: boolean;
}

export interface ChatRequest {
  readonly model: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly messages: readonly any[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly [member: string]: any;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5 };

/** A provider that says what it is told to, and remembers what it was asked. */
export function startScriptedProvider(script: (request: ChatRequest, number: number) => ScriptedAnswer) {
  const requests: ChatRequest[] = [];
  const { origin, stop } = serve(async (incoming) => {
    const request = (await incoming.json()) as ChatRequest;
    requests.push(request);
    const answer = script(request, requests.length);
    return answerOf(answer, incoming.signal);
  });
  return { url: `${origin}/v1`, requests: requests as readonly ChatRequest[], stop };
}

export type ScriptedProvider = ReturnType<typeof startScriptedProvider>;

/** The answer as a provider sends it. */
export async function answerOf(answer: ScriptedAnswer, signal: AbortSignal): Promise<Response> {
  if (answer.delayMs) await Bun.sleep(answer.delayMs);
  if (answer.status) {
    const error = { message: `Status ${answer.status}.`, type: 'error', param: null, code: null, ...answer.error };
    return Response.json({ error }, { status: answer.status });
  }
  if (answer.isWhole) return Response.json(whole(answer));
  return new Response(streamOf(answer, signal), { headers: { 'content-type': 'text/event-stream' } });
}

function* deltasOf({ parts = [] }: ScriptedAnswer): Generator<object> {
  let calls = 0;
  yield { role: 'assistant', content: '' };
  for (const part of parts) {
    if ('text' in part) for (const piece of part.text.match(/\s*\S+|\s+$/g) ?? []) yield { content: piece };
    else if ('thought' in part)
      for (const piece of part.thought.match(/\s*\S+|\s+$/g) ?? []) yield { reasoning_content: piece };
    else if ('refusal' in part) yield { refusal: part.refusal };
    else {
      const index = calls++;
      const { call: name, id = `call_${crypto.randomUUID().slice(0, 8)}` } = part;
      yield { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
      for (const piece of part.arguments.match(/.{1,6}/gs) ?? [])
        yield { tool_calls: [{ index, function: { arguments: piece } }] };
    }
  }
}

const reasonOf = ({ finish, parts = [] }: ScriptedAnswer) =>
  finish ?? (parts.some((part) => 'call' in part) ? 'tool_calls' : 'stop');

function* chunksOf(answer: ScriptedAnswer): Generator<string> {
  const chunk = (choices: object[], more: object = {}) =>
    JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more });
  for (const delta of deltasOf(answer)) yield chunk([{ index: 0, delta, finish_reason: null }]);
  yield chunk([{ index: 0, delta: {}, finish_reason: reasonOf(answer) }]);
  const { usage = USAGE } = answer;
  if (usage) yield chunk([], { usage });
  yield '[DONE]';
}

function streamOf(answer: ScriptedAnswer, signal: AbortSignal): ReadableStream<Uint8Array> {
  const chunks = chunksOf(answer);
  const left = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => left.resolve());
  let sent = 0;
  const bytes = (data: string) => new TextEncoder().encode(`data: ${data}\n\n`);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (sent === answer.stallAfter) await left.promise;
        if (sent === answer.cutAfter) {
          await Bun.sleep(20);
          return controller.error(undefined);
        }
        if (sent === answer.failAfter) {
          const error = { message: 'The model broke.', type: 'server_error', param: null, code: 'server_error' };
          controller.enqueue(bytes(JSON.stringify({ error })));
          return controller.close();
        }
        if (answer.chunkDelayMs) await Bun.sleep(answer.chunkDelayMs);
        const next = chunks.next();
        if (next.done) return controller.close();
        sent++;
        controller.enqueue(bytes(next.value));
      },
      cancel: () => left.resolve(),
    },
    { highWaterMark: 0 },
  );
}

function whole(answer: ScriptedAnswer) {
  const texts = (answer.parts ?? []).flatMap((part) => ('text' in part ? part.text : []));
  const calls = (answer.parts ?? []).flatMap((part, index) =>
    'call' in part
      ? { id: part.id ?? `call_${index}`, type: 'function', function: { name: part.call, arguments: part.arguments } }
      : [],
  );
  const thoughts = (answer.parts ?? []).flatMap((part) => ('thought' in part ? part.thought : []));
  const message = {
    role: 'assistant',
    content: texts.join('') || null,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: reasonOf(answer) }],
    ...(answer.usage !== null && { usage: answer.usage ?? USAGE }),
  };
}
