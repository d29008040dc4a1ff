import { type SimulatedCall, simulatedCalls } from './calls.ts';
import { parseFaults } from './faults.ts';
import { SimulatedLive } from './live.ts';
import { SimulatedRealtime } from './realtime.ts';

/** What hangs on a WebSocket of the simulator's. */
export interface SimulatedSocket {
  readonly model: string;
  /** Google's Live API is spoken, not OpenAI's Realtime API. */
  readonly isLive: boolean;
  /** In the form of Vertex AI. */
  readonly isVertex: boolean;
  /** It is the side channel of a call. */
  readonly call: SimulatedCall | null;
  /** Set when it is open. */
  side: Pick<SimulatedRealtime | SimulatedLive, 'received' | 'closed'> | null;
}

const REALTIME = /\/realtime$/;
const LIVE =
  /\/ws\/google\.(?:ai\.generativelanguage\.\w+\.GenerativeService\.|cloud\.aiplatform\.\w+\.LlmBidiService\/)BidiGenerateContent$/;
const VERTEX = /aiplatform/;
const isServed = (path: string): boolean => REALTIME.test(path) || LIVE.test(path);

/** Whether a request asks for a WebSocket that is simulated. */
export const asksForSocket = (request: Request): boolean =>
  request.headers.get('upgrade')?.toLowerCase() === 'websocket' && isServed(new URL(request.url).pathname);

/** Goes on as a WebSocket; a response: it is refused. */
export function openSocket(request: Request, server: Bun.Server<SimulatedSocket>): Response | undefined {
  const { searchParams, pathname } = new URL(request.url);
  const isLive = LIVE.test(pathname);
  const model = searchParams.get('model') ?? searchParams.get('deployment') ?? '';
  const header = request.headers.get('x-simulate');
  const { status = 200 } = header === null ? {} : parseFaults(header);
  if (status >= 400) return refusal(status, `This is a simulated error ${status}.`);
  if (model === 'require-key' && !request.headers.get('authorization') && !request.headers.get('api-key'))
    return refusal(401, 'No credential was sent.');
  const isVertex = VERTEX.test(pathname);
  if (isLive && !request.headers.get(isVertex ? 'authorization' : 'x-goog-api-key'))
    return refusal(401, 'No credential was sent.');
  const callId = searchParams.get('call_id');
  const call = callId === null ? null : simulatedCalls.get(callId);
  if (call) call.attached++;
  if (call === undefined || call?.isOver || (call && call.attached <= (call.faults.get('side-channel') ?? 0)))
    return refusal(404, 'No session found for the provided call_id.');
  const [protocol] = (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
  const headers = protocol ? { 'sec-websocket-protocol': protocol } : undefined;
  return server.upgrade(request, { data: { model, isLive, isVertex, call, side: null }, headers })
    ? undefined
    : refusal(400, 'No handshake.');
}

const refusal = (status: number, message: string): Response =>
  Response.json({ error: { message, type: 'invalid_request_error', param: null, code: null } }, { status });

/** For `Bun.serve`. */
export const simulatedSockets: Bun.WebSocketHandler<SimulatedSocket> = {
  data: {} as SimulatedSocket,
  maxPayloadLength: 32 << 20,
  backpressureLimit: 64 << 20,
  open(socket) {
    const line = {
      send: (text: string) => void socket.sendText(text),
      close: (code: number, reason: string) => socket.close(code, reason),
      cut: () => socket.terminate(),
    };
    const { call } = socket.data;
    if (call) {
      call.sides.add(line);
      socket.data.side = { received: (frame) => call.received(frame), closed: () => void call.sides.delete(line) };
      return;
    }
    // Google sends its JSON in binary frames.
    const inBytes = { ...line, send: (text: string) => void socket.sendBinary(Buffer.from(text)) };
    socket.data.side = socket.data.isLive
      ? new SimulatedLive(inBytes, socket.data.isVertex ? 'projects/' : 'models/')
      : new SimulatedRealtime(line, socket.data.model, Date.now());
  },
  message: ({ data }, frame) => data.side?.received(frame),
  close: ({ data }) => data.side?.closed(),
};
