import { findAllowed, type ProgramSettings } from '../../core/allowed-programs.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { GatewayError } from '../../core/errors.ts';
import { sentHeaders } from '../../http/headers.ts';
import { type Incoming, type Outgoing, UpstreamFailure } from '../../http/upstream.ts';
import { type ReadMessage, readMessages } from '../message/message.ts';
import { isStateless } from '../message/versions.ts';
import { Program, type ProgramEnd, whyNoPrograms } from '../program/program.ts';
import type { McpServer } from '../server/server.ts';
import { MessageQueue } from './message-queue.ts';
import { Conversation, ProgramFailure, streamed, whole } from './program-conversation.ts';

export type ProgramServer = Pick<McpServer, 'id' | 'slug' | 'version' | 'program' | 'identity' | 'startMs'>;

interface ToProgram extends Outgoing {
  readonly headers: Headers;
}

export interface ProgramServersDeps {
  readonly programs: ProgramSettings;
  readonly version: string;
}

/** Who speaks to a program: one session of a client, or all calls of the same kind that have none. */
interface Seat {
  readonly key: string;
  readonly server: ProgramServer;
  readonly isShared: boolean;
  /** Programs of the newer version are not greeted. */
  readonly isStateless: boolean;
  /** What its client said of itself; null: this node has not heard it. */
  greeting: object | null;
  readonly listeners: Set<MessageQueue>;
  running: Running | null;
}

interface Running {
  readonly ready: Promise<Conversation>;
  /** What the program was told of its caller. */
  readonly claims: string | null;
  /** Null: it is being started. */
  conversation: Conversation | null;
  program: Program | null;
}

const MOST_SEATS = 5_000;
const MOST_ENDED = 10_000;
const MOST_MESSAGE_BYTES = 16 << 20;
/** A longer one is not kept for the time when the program is started again. */
const MOST_GREETING = 4_096;
/** How long a program may take until it answers for the first time. */
const START_MS = 30_000;
/** One that ends sooner than this has not come to work. */
const SHORT_LIFE_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
/** How long a place is waited for that is being left. */
const MOST_PROCESSES = 512;
const PLACE_MS = 10_000;
const OPEN_BRACKET = 0x5b;
const LAST_STOP_MS = 8_000;

/**
 * Servers that are programs. Each session of a client has a program of its own, which is started when it is needed and
 * stopped when it is not used; what a session has open then stays open. Calls without a session share a program, those
 * of the same caller where the server is told who calls. Another node runs its own.
 */
export function createProgramServers({ programs, version }: ProgramServersDeps) {
  const seats = new Map<string, Seat>();
  const ended = new BoundedMap<string, true>(MOST_ENDED);
  const failures = new BoundedMap<string, { readonly count: number; readonly until: number }>(MOST_ENDED);
  const users = new Set<number>();
  const alive = new Set<Program>();
  let places = 0;
  let isClosed = false;
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'gateway', version } };
  const mostAtOnce = () => {
    const { user, most } = programs;
    return user && user.last > user.first ? Math.min(most, user.last - user.first + 1) : most;
  };

  const stop = (seat: Seat) => {
    const { running } = seat;
    seat.running = null;
    running?.program?.stop();
    // One that is being started is stopped as soon as it is there.
    if (running && !running.program) running.ready.then(() => running.program?.stop()).catch(() => {});
  };
  const drop = (seat: Seat) => {
    seats.delete(seat.key);
    stop(seat);
    for (const queue of [...seat.listeners]) queue.end();
    seat.listeners.clear();
  };

  const idleTimer = setInterval(
    () => {
      const before = performance.now() - programs.idleMs;
      for (const seat of seats.values()) {
        const conversation = seat.running?.conversation;
        if (conversation && !conversation.isBusy && conversation.usedAt < before) stop(seat);
      }
    },
    Math.min(programs.idleMs / 4, 10_000),
  );
  idleTimer.unref();

  /** The seat whose program is unused for the longest time; the one to make room. */
  const leastUsed = (): Seat | null => {
    let found: Seat | null = null;
    for (const seat of seats.values()) {
      const conversation = seat.running?.conversation;
      if (!conversation || conversation.isBusy) continue;
      if (!found || conversation.usedAt < found.running!.conversation!.usedAt) found = seat;
    }
    return found;
  };
  const takePlace = async ({ slug }: ProgramServer): Promise<void> => {
    const until = performance.now() + PLACE_MS;
    while (places >= mostAtOnce()) {
      const seat = leastUsed();
      if (seat) stop(seat);
      else if (alive.size === 0 || performance.now() > until || ![...alive].some((each) => each.isStopping))
        throw unavailable(slug, `all ${mostAtOnce()} places for programs are in use; try again later`, 5);
      await Promise.race([...[...alive].map((each) => each.ended), Bun.sleep(1_000)]);
    }
    places++;
  };
  const takeUser = () => {
    const { user } = programs;
    if (!user) return null;
    let id = user.first;
    while (user.last > user.first && users.has(id)) id++;
    users.add(id);
    // Threads count, too. A user that all programs share has as many as they need together.
    const mostProcesses = MOST_PROCESSES * (user.last > user.first ? 1 : Math.max(2, programs.most / 4));
    return { id, group: user.group, mostProcesses: Math.ceil(mostProcesses) };
  };

  const refuseRestless = ({ slug, version: of, id }: ProgramServer) => {
    const known = failures.get(`${id} ${of}`);
    const pauseMs = (known?.until ?? 0) - performance.now();
    if (!known || pauseMs <= 0) return;
    const seconds = Math.ceil(pauseMs / 1_000);
    throw unavailable(slug, `it has failed ${known.count} times; it is started again in ${seconds} s`, seconds);
  };
  const keepOutcome = ({ id, version: of }: ProgramServer, end: ProgramEnd, livedMs: number, isGreeted: boolean) => {
    const key = `${id} ${of}`;
    if (end.isStopped) return;
    if (isGreeted && livedMs > SHORT_LIFE_MS) return void failures.delete(key);
    const count = (failures.get(key)?.count ?? 0) + 1;
    // The first time may be bad luck; a program that goes on like that is left alone for longer and longer.
    const pauseMs = count === 1 ? 0 : Math.min(2 ** (count - 2) * 1_000, LONGEST_PAUSE_MS);
    failures.set(key, { count, until: performance.now() + pauseMs });
  };

  const launch = async (seat: Seat, running: Running): Promise<Conversation> => {
    const { server } = seat;
    const { slug, program: asked } = server;
    const { command, args = [], env = {} } = asked!;
    const allowed = findAllowed(programs.allowed, { command, args });
    const why = whyNoPrograms() ?? (allowed ? null : 'its operator does not allow this program (GATEWAY_MCP_COMMANDS)');
    if (isClosed || why !== null || !allowed) throw unavailable(slug, why ?? 'the gateway is stopping', 60);
    if (!Object.keys(env).every((name) => allowed.env.includes(name)))
      throw unavailable(slug, 'its operator does not allow some of its variables (GATEWAY_MCP_COMMANDS)', 60);
    refuseRestless(server);
    await takePlace(server);
    const user = takeUser();
    const leave = () => {
      places--;
      if (user) users.delete(user.id);
    };
    try {
      let conversation: Conversation | null = null;
      const program = await Program.start({
        ...{ command, args, user, memoryMb: programs.memoryMb },
        env: { ...env, ...(running.claims !== null && { MCP_USER_CLAIMS: running.claims }), ...allowed.set },
        hear: (line) => conversation?.hear(line),
      });
      running.program = program;
      alive.add(program);
      const { isShared, listeners } = seat;
      conversation = new Conversation(program, { slug, isShared, listeners });
      const known = conversation;
      void program.ended.then((end) => {
        alive.delete(program);
        leave();
        if (seat.running === running) seat.running = null;
        const livedMs = performance.now() - program.startedAt;
        keepOutcome(server, end, livedMs, known.isGreeted || seat.isStateless);
      });
      return conversation;
    } catch (error) {
      leave();
      const said = error instanceof Error ? error.message : '';
      throw new ProgramFailure(slug, 'it cannot be started on this machine', said);
    }
  };

  /** The program of a seat, started where it does not run. The client's own greeting is the first that some are told. */
  const conversationOf = (
    seat: Seat,
    { claims, withinMs }: Asked,
    isGreetedByClient = false,
  ): Promise<Conversation> => {
    if (seat.running && seat.running.claims !== claims) stop(seat);
    if (seat.running) return seat.running.ready;
    const { promise: ready, resolve, reject } = Promise.withResolvers<Conversation>();
    const running: Running = { ready, claims, conversation: null, program: null };
    seat.running = running;
    ready.catch(() => {});
    const begin = async () => {
      const conversation = await launch(seat, running);
      if (!isGreetedByClient && !seat.isStateless) {
        await conversation.greet(seat.greeting ?? hello, startMs(seat.server, withinMs)).catch((error) => {
          running.program?.endFor('it does not answer when it is greeted');
          throw error;
        });
      }
      running.conversation = conversation;
      return conversation;
    };
    begin().then(resolve, (error) => {
      if (seat.running === running) seat.running = null;
      reject(error);
    });
    return ready;
  };

  const seatOf = (key: string, facts: Pick<Seat, 'server' | 'isShared' | 'isStateless'>): Seat => {
    const known = seats.get(key);
    const seat = known ?? { key, ...facts, greeting: null, listeners: new Set(), running: null };
    // The youngest is the last to make room.
    seats.delete(key);
    if (!known && seats.size >= MOST_SEATS) drop(seats.values().next().value!);
    seats.set(key, seat);
    return seat;
  };

  const begin = async (server: ProgramServer, asked: Asked): Promise<Incoming> => {
    const sessionId = crypto.randomUUID();
    const seat = seatOf(keyOf(server, sessionId), { server, isShared: false, isStateless: false });
    const { params } = asked.message;
    if (JSON.stringify(params).length <= MOST_GREETING) seat.greeting = params;
    try {
      const conversation = await heeding(conversationOf(seat, asked, true), server, asked.signal);
      const incoming = await conversation.ask({ ...asked, withinMs: startMs(server, asked.withinMs) });
      incoming.headers.set('mcp-session-id', sessionId);
      return incoming;
    } catch (error) {
      const isLate = error instanceof UpstreamFailure && error.kind === 'timeout';
      if (isLate) seat.running?.program?.endFor('it does not answer when it is greeted');
      drop(seat);
      throw error;
    }
  };

  const listen = (seat: Seat, signal: AbortSignal | undefined): Incoming => {
    const queue: MessageQueue = new MessageQueue({
      onCancel: () => seat.listeners.delete(queue),
      overflow: () => new ProgramFailure(seat.server.slug, 'it said more than the client has read', ''),
    });
    seat.listeners.add(queue);
    signal?.addEventListener('abort', () => queue.cancel(), { once: true });
    return streamed(null, queue, () => queue.cancel());
  };

  return {
    /** Answers for a program as if it spoke Streamable HTTP. `caller` tells callers apart. */
    async send(server: ProgramServer, request: ToProgram, caller: string): Promise<Incoming> {
      const { headers, method, signal } = request;
      const sessionId = headers.get('mcp-session-id');
      const key = sessionId === null ? null : keyOf(server, sessionId);
      if (key !== null && ended.has(key)) return answered(404);
      const ofSession = (known: string) => seatOf(known, { server, isShared: false, isStateless: false });
      if (method === 'DELETE') {
        const seat = key === null ? undefined : seats.get(key);
        if (seat) drop(seat);
        if (key !== null) ended.set(key, true);
        return answered(204);
      }
      if (method === 'GET') return key === null ? answered(405) : listen(ofSession(key), signal);

      const asked = readAsked(server, request);
      const { message } = asked;
      if (message.method === 'initialize' && message.isRequest) return begin(server, asked);
      const newer = isStateless(headers.get('mcp-protocol-version'));
      const who = server.identity ? caller : '';
      const seat =
        key === null
          ? seatOf(`${server.id} ${server.version} ${newer} ${who}`, { server, isShared: true, isStateless: newer })
          : ofSession(key);
      if (message.method === null || !message.isRequest) {
        // What no program waits for is no reason to start one.
        if (key !== null && seat.running) await (await seat.running.ready).tell(asked);
        return answered(202);
      }
      if (message.method === 'ping' && !seat.running)
        return whole(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} })));
      const conversation = await heeding(conversationOf(seat, asked), server, signal);
      return conversation.ask(asked);
    },

    /** Ends programs of servers that are gone or have changed. */
    async review(find: (id: string) => Promise<Pick<McpServer, 'version'> | null>): Promise<void> {
      const versions = new Map<string, string | null>();
      for (const seat of [...seats.values()]) {
        const { id } = seat.server;
        // What cannot be looked up now is stopped when it is not used, and no call reaches it without being looked up.
        if (!versions.has(id))
          versions.set(
            id,
            await find(id).then(
              (found) => found?.version ?? null,
              () => seat.server.version,
            ),
          );
        if (versions.get(id) !== seat.server.version) drop(seat);
      }
    },

    async close(): Promise<void> {
      isClosed = true;
      clearInterval(idleTimer);
      for (const seat of [...seats.values()]) drop(seat);
      const all = [...alive];
      for (const program of all) program.stop();
      await Promise.race([Promise.all(all.map((program) => program.ended)), Bun.sleep(LAST_STOP_MS)]);
    },
  };
}

export type ProgramServers = ReturnType<typeof createProgramServers>;

interface Asked {
  readonly message: ReadMessage;
  readonly body: Uint8Array;
  readonly claims: string | null;
  readonly token: string | null;
  readonly signal: AbortSignal | undefined;
  readonly withinMs: number;
}

function readAsked({ identity }: ProgramServer, { body, headers, signal, timeouts }: ToProgram): Asked {
  if (!(body instanceof Uint8Array) || body.byteLength > MOST_MESSAGE_BYTES)
    throw new GatewayError('mcp_message_refused', [`its server takes messages of at most ${MOST_MESSAGE_BYTES} bytes`]);
  const [message, another] = readMessages(body, sentHeaders(headers));
  const isBatch = body.find((byte) => byte > 32) === OPEN_BRACKET;
  if (!message || another || isBatch)
    throw new GatewayError('mcp_message_refused', ['its server takes one message at a time']);
  const told = identity ? headers.get(identity.header) : null;
  const isClaims = identity?.method === 'claims_header';
  return {
    ...{ message, body, signal },
    // Claims stay the same and are told when a program is started; tokens run out, so that each request has its own.
    claims: isClaims ? told : null,
    token: isClaims ? null : told,
    withinMs: timeouts.firstByteMs,
  };
}

const keyOf = ({ id, version }: ProgramServer, sessionId: string) => `${id} ${version} ${sessionId}`;

/** How long a program may take for its greeting; 0: the call may take any time. */
const startMs = ({ startMs: own }: ProgramServer, callMs: number): number =>
  Math.min(Math.max(START_MS, own), callMs || Number.POSITIVE_INFINITY);

const answered = (status: number): Incoming => whole(new Uint8Array(), '', status);

const unavailable = (slug: string, why: string, seconds: number): GatewayError =>
  new GatewayError('mcp_program_unavailable', [slug, why], { 'retry-after': String(seconds) });

/** A client that has gone waits for no program. The program starts all the same, for those who come next. */
async function heeding<Value>(work: Promise<Value>, { slug }: ProgramServer, signal: AbortSignal | undefined) {
  if (!signal) return work;
  const gone = Promise.withResolvers<never>();
  const leave = () =>
    gone.reject(
      new UpstreamFailure({
        ...{ host: `program of ${slug}`, phase: 'connect', kind: 'aborted', sent: 'no' },
        why: 'the caller ended the request',
      }),
    );
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, gone.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
