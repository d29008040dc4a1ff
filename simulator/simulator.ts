import { anthropic } from './anthropic.ts';
import { bodyOf, type Gauge, holdHeaders, inShortPieces, type Writing } from './body.ts';
import { callAnswer } from './calls.ts';
import { type Answer, type AnswerBody, type Call, digest, json, type Vendor } from './exchange.ts';
import { type Faults, faultsIn, noFaults, parseFaults } from './faults.ts';
import { gemini, isGeminiPath } from './gemini.ts';
import { createOpenAI } from './openai.ts';
import { bytes, echo, probe } from './probes.ts';
import { Refusal } from './refusal.ts';
import { encodeEvents } from './sse.ts';

export interface SimulatorOptions {
  /** Milliseconds since the epoch, for the `created` fields. */
  readonly now?: () => number;
}

export interface Simulator {
  /** Answers as a provider would. Rejects, as `fetch` does, only when the request is aborted before its answer began. */
  simulate(request: Request): Promise<Response>;
  /** Answers that wait for their headers or are being streamed. */
  readonly open: number;
  /** Answers that the client left before their end. */
  readonly aborted: number;
}

export function createSimulator({ now = Date.now }: SimulatorOptions = {}): Simulator {
  const openai = createOpenAI();
  const gauge: Gauge = { open: 0, aborted: 0 };
  return {
    get open() {
      return gauge.open;
    },
    get aborted() {
      return gauge.aborted;
    },
    async simulate(request) {
      const call = callFrom(request, now());
      const vendor = vendorOf(call, openai);
      const outcome = await decide(call, vendor);
      return respond(outcome, call, gauge);
    },
  };
}

const VERSIONED_PATH = /^\/(v1|v1beta|v1alpha|v2)(\/.*)$/;

function callFrom(request: Request, now: number): Call {
  const { url } = request;
  const pathStart = url.indexOf('/', url.indexOf('//') + 2);
  const queryStart = url.indexOf('?', pathStart);
  const fullPath = queryStart === -1 ? url.slice(pathStart) : url.slice(pathStart, queryStart);
  const [, version = '', path = fullPath] = VERSIONED_PATH.exec(fullPath) ?? [];
  let identified = fullPath;
  let id: string | undefined;
  let reading: Promise<string> | undefined;
  return {
    request,
    // HEAD is answered as GET is; the server leaves the body out.
    method: request.method === 'HEAD' ? 'GET' : request.method,
    version,
    path: path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path,
    query: new URLSearchParams(queryStart === -1 ? '' : url.slice(queryStart)),
    headers: request.headers,
    now,
    text() {
      reading ??= request.text().then((text) => {
        if (text !== '') identified = text;
        id = undefined;
        return text;
      });
      return reading;
    },
    id() {
      id ??= digest(identified);
      return id;
    },
  };
}

const OPENAI_PATH = /^\/(chat\/completions|completions|responses|embeddings|files|fine_tuning)\b/;

/** Some paths (`/models`, and all unknown ones) are in no format of their own: there the client's headers tell. */
function vendorOf({ path, version, headers, query }: Call, openai: Vendor): Vendor {
  if (OPENAI_PATH.test(path)) return openai;
  if (path.startsWith('/messages')) return anthropic;
  if (isGeminiPath(path) || version === 'v1beta' || version === 'v1alpha') return gemini;
  if (headers.has('x-goog-api-key') || query.has('key')) return gemini;
  return headers.has('anthropic-version') ? anthropic : openai;
}

interface Outcome {
  readonly answer: Answer;
  readonly faults: Faults;
}

async function decide(call: Call, vendor: Vendor): Promise<Outcome> {
  let faults = noFaults;
  try {
    const header = call.headers.get('x-simulate');
    if (header !== null) faults = parseFaults(header);
    const plain = overrule(call, faults) ?? probe(call) ?? callAnswer(call);
    if (plain) return { answer: await plain, faults };
    const exchange = await vendor.read(call);
    if (!exchange) throw new Refusal(404, `Nothing answers ${call.method} ${call.path} here.`);
    // The header has the last word, because it is nearer to the test than the prompt is.
    faults = { ...faultsIn(exchange.said), ...faults };
    const answer = (await overrule(call, faults)) ?? exchange.answer(faults);
    return { answer: named(answer, call, vendor), faults };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const body = vendor.errorBody(error, `req_${call.id()}`);
    return { answer: named(json(body, error.status), call, vendor), faults };
  }
}

/** The answer of faults that leave nothing of the usual one. Throws the error that `status` asks for. */
function overrule(call: Call, faults: Faults): Promise<Answer> | Answer | null {
  const { status = 200, retryAfter } = faults;
  if (status >= 400) {
    const advice = retryAfter === undefined ? '' : ` Try again in ${retryAfter} s.`;
    throw new Refusal(status, `This is a simulated error ${status}.${advice}`);
  }
  if (faults.echo) return echo(call);
  return faults.bytes === undefined ? null : bytes(faults.bytes);
}

function named(answer: Answer, call: Call, { requestIdHeader }: Vendor): Answer {
  if (requestIdHeader === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, [requestIdHeader]: `req_${call.id()}` } };
}

const WITHOUT_BODY = new Set([204, 205, 304]);

async function respond({ answer, faults }: Outcome, call: Call, gauge: Gauge): Promise<Response> {
  const writing: Writing = { faults, request: call.request, gauge };
  if (faults.delayMs !== undefined || faults.stall === 'headers') await holdHeaders(writing);
  const headers: Record<string, string> = { 'x-simulated': 'true', ...answer.headers };
  if (faults.retryAfter !== undefined) headers['retry-after'] = faults.retryAfter;
  const status = answer.status ?? faults.status ?? 200;
  const body = WITHOUT_BODY.has(status) ? null : encode(answer.body, headers, writing);
  const response = new Response(body, { status, headers });
  for (const cookie of answer.cookies ?? []) response.headers.append('set-cookie', cookie);
  return response;
}

/** The body as a `Response` takes it; adds the headers that describe it. */
function encode(
  body: AnswerBody,
  headers: Record<string, string>,
  writing: Writing,
): string | Uint8Array<ArrayBuffer> | ReadableStream {
  switch (body.type) {
    case 'json':
      headers['content-type'] = 'application/json';
      return whole(JSON.stringify(body.value), headers, writing);
    case 'bytes':
      headers['content-type'] = body.contentType;
      return whole(body.bytes, headers, writing);
    case 'events':
      headers['content-type'] = 'text/event-stream; charset=utf-8';
      headers['cache-control'] = 'no-cache';
      return bodyOf(encodeEvents(body.events, { lineEnd: body.lineEnd, framing: writing.faults.framing }), writing);
    case 'pieces':
      headers['content-type'] = body.contentType;
      return bodyOf(body.pieces, writing);
    default:
      return body satisfies never;
  }
}

/** A body that is known whole is handed over as it is, unless a fault strikes inside it. */
function whole(content: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>, writing: Writing) {
  const { gzip, stall, cut, chunkDelayMs } = writing.faults;
  if (gzip) headers['content-encoding'] = 'gzip';
  const sent = gzip ? Bun.gzipSync(content) : content;
  if (stall === undefined && cut === undefined && chunkDelayMs === undefined) return sent;
  return bodyOf(inShortPieces(typeof sent === 'string' ? new TextEncoder().encode(sent) : sent), writing);
}
