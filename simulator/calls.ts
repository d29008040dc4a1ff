import { type Answer, type Call, digest } from './exchange.ts';
import { isObject, type JsonObject } from './json.ts';
import { type SimulatedLine, SimulatedRealtime } from './realtime.ts';
import { Refusal } from './refusal.ts';

const PLACED = '/realtime/calls';
const HANGUP = /^\/realtime\/calls\/([\w-]+)\/hangup$/;
/** A line of an offer such as `a=simulate:side-channel=404`. */
const DIRECTIVE = /^a=simulate:([a-z-]+)(?:=(\d+))?\s*$/gm;
const KNOWN = ['side-channel', 'hangup', 'no-location', 'silent'];
const MOST_CALLS = 1_000;
const NORMAL = 1000;

/** Calls by WebRTC, by their names. There is no sound: a test says on `client` what a client would on its data channel. */
export const simulatedCalls = new Map<string, SimulatedCall>();
let placed = 0;

/** A call: one conversation, of which its client and every side channel hear. */
export class SimulatedCall {
  readonly id: string;
  readonly model: string;
  readonly session: JsonObject;
  readonly credential: string | null;
  readonly offer: string;
  /** What the client has heard. */
  readonly heard: JsonObject[] = [];
  readonly sides = new Set<SimulatedLine>();
  readonly faults: ReadonlyMap<string, number>;
  readonly #talk: SimulatedRealtime;
  isOver = false;
  hangups = 0;
  /** Side channels that were asked for. */
  attached = 0;

  constructor(id: string, session: JsonObject, offer: string, credential: string | null) {
    this.id = id;
    this.model = String(session.model ?? '');
    this.session = session;
    this.credential = credential;
    this.offer = offer;
    this.faults = faultsOf(offer);
    const line: SimulatedLine = {
      send: (text) => this.#tell(text),
      close: () => this.end(),
      cut: () => {
        for (const side of this.sides) side.cut();
      },
    };
    this.#talk = new SimulatedRealtime(line, this.model, Date.now(), session);
  }

  /** What the client says on its data channel. */
  say(event: JsonObject): void {
    if (!this.isOver) this.#talk.received(JSON.stringify(event));
  }

  /** A side channel says something. */
  received(frame: string | Uint8Array): void {
    if (!this.isOver) this.#talk.received(frame);
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#talk.closed();
    for (const side of [...this.sides]) side.close(NORMAL, '');
    this.sides.clear();
  }

  #tell(text: string): void {
    if (this.isOver) return;
    this.heard.push(JSON.parse(text) as JsonObject);
    if (!this.faults.has('silent')) for (const side of this.sides) side.send(text);
  }
}

function faultsOf(offer: string): Map<string, number> {
  const faults = new Map<string, number>();
  for (const [, name = '', value = '1'] of offer.matchAll(DIRECTIVE)) {
    if (!KNOWN.includes(name)) throw new Refusal(400, `Unknown simulation "${name}"; known are ${KNOWN.join(', ')}.`);
    faults.set(name, Number(value));
  }
  return faults;
}

/** Answers what is asked about calls; null for every other path. */
export function callAnswer(call: Call): Promise<Answer> | Answer | null {
  if (call.method !== 'POST') return null;
  if (call.path === PLACED) return place(call);
  const id = HANGUP.exec(call.path)?.[1];
  return id === undefined ? null : hangUp(id);
}

async function place(call: Call): Promise<Answer> {
  const isForm = call.headers.get('content-type')?.startsWith('multipart/form-data');
  const form = isForm ? await call.request.formData() : null;
  const offer = form ? String(await textOf(form.get('sdp'))) : await call.text();
  if (!offer.startsWith('v=0')) throw new Refusal(400, 'The offer is no SDP.');
  const given: unknown = form?.has('session') ? JSON.parse(await textOf(form.get('session'))) : {};
  const session = { type: 'realtime', model: call.query.get('model'), ...(isObject(given) ? given : {}) };
  if (typeof session.model !== 'string') throw new Refusal(400, 'The session has no model.');
  const id = `rtc_${digest(`${call.now} ${placed++} ${crypto.randomUUID()}`)}`;
  const credential = call.headers.get('authorization') ?? call.headers.get('api-key');
  const made = new SimulatedCall(id, session, offer, credential);
  const [oldest] = simulatedCalls.keys();
  if (simulatedCalls.size >= MOST_CALLS && oldest !== undefined) simulatedCalls.delete(oldest);
  simulatedCalls.set(id, made);
  const answer = `v=0\r\no=- ${placed} 1 IN IP4 127.0.0.1\r\ns=${id}\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=setup:active\r\n`;
  return {
    status: 201,
    headers: made.faults.has('no-location') ? {} : { location: `/v1/realtime/calls/${id}` },
    body: { type: 'bytes', bytes: new TextEncoder().encode(answer), contentType: 'application/sdp' },
  };
}

function hangUp(id: string): Answer {
  const call = simulatedCalls.get(id);
  if (call) call.hangups++;
  const failing = call?.faults.get('hangup') ?? 0;
  if (call && call.hangups <= failing) throw new Refusal(503, 'This is a simulated error 503.');
  if (!call || call.isOver) throw new Refusal(404, 'No session found for the provided call_id.');
  call.end();
  return { status: 200, body: { type: 'bytes', bytes: new Uint8Array(), contentType: 'text/plain' } };
}

const textOf = async (field: File | string | null): Promise<string> =>
  field === null ? '' : typeof field === 'string' ? field : await field.text();
