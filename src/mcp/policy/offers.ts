import type { Principal } from '../../core/principal.ts';
import { type Capability, capabilityOf, LIST_METHODS, LISTS } from '../message/capability.ts';
import { Ambiguous } from '../message/strict-json.ts';
import { STATELESS } from '../message/versions.ts';
import {
  discover,
  greeter,
  initialize,
  nameIn,
  type ProbeDeps,
  type ServerReply,
  STATELESS_HEADERS,
  textIn,
  WITH_SESSIONS,
} from '../relay/probe.ts';
import type { McpServer } from '../server/server.ts';
import { MOST_CAPABILITIES } from './stored.ts';

/** What a server says of itself and has to offer. */
export interface Offers {
  readonly server_name: string | null;
  readonly server_version: string | null;
  readonly protocol_version: string | null;
  readonly capability_flags: readonly string[];
  readonly capabilities: readonly Capability[];
}

/** Why a server could not be asked; for people. */
export class OffersUnknown extends Error {}

const MOST_BYTES = 4 << 20;
const MOST_PAGES = 100;
const MOST_MS = 30_000;
const MOST_FLAGS = 50;

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Asks a server for everything it offers, as a client of this key would. */
export async function readOffers(server: McpServer, principal: Principal, deps: ProbeDeps): Promise<Offers> {
  const ends = performance.now() + MOST_MS;
  const asking = new Asking(await greeter(server, principal, deps, MOST_BYTES), deps.version);
  const greeting = await asking.greet();
  try {
    const offered = isObject(greeting.capabilities) ? Object.keys(greeting.capabilities) : [];
    const capabilities: Capability[] = [];
    for (const [method, list] of Object.entries(LIST_METHODS)) {
      if (!offered.includes(method.split('/')[0]!)) continue;
      for await (const page of asking.pages(method, list)) {
        capabilities.push(...page);
        if (capabilities.length > MOST_CAPABILITIES)
          throw new OffersUnknown(`It offers more than ${MOST_CAPABILITIES} things.`);
        if (performance.now() > ends)
          throw new OffersUnknown(`Its lists did not end within ${MOST_MS / 1_000} seconds.`);
      }
    }
    return {
      server_name: nameIn(greeting),
      server_version: textIn(greeting.serverInfo, 'version'),
      protocol_version: asking.version,
      capability_flags: offered.map((flag) => flag.slice(0, 64)).slice(0, MOST_FLAGS),
      capabilities: [...new Map(capabilities.map((each) => [`${each.type} ${each.name}`, each])).values()],
    };
  } finally {
    await asking.leave();
  }
}

function offered(list: string, element: unknown): Capability | null {
  try {
    return capabilityOf(list, element);
  } catch (error) {
    if (error instanceof Ambiguous) throw new OffersUnknown(`One of its ${list} cannot be read: ${error.message}.`);
    throw error;
  }
}

type Greet = Awaited<ReturnType<typeof greeter>>;

/** A conversation with a server, in the older way if it understands that. */
class Asking {
  readonly #greet: Greet;
  readonly #gatewayVersion: string;
  #sessionId: string | null = null;
  #isStateless = false;
  #id = 1;
  version: string | null = null;

  constructor(greet: Greet, gatewayVersion: string) {
    this.#greet = greet;
    this.#gatewayVersion = gatewayVersion;
  }

  async greet(): Promise<Json> {
    const older = await this.#greet('POST', initialize(this.#gatewayVersion), {
      'mcp-protocol-version': WITH_SESSIONS,
    });
    this.#sessionId = older.sessionId;
    if (older.result) {
      this.version = textIn(older.result, 'protocolVersion');
      await this.#greet('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }, this.#headers('')); // answered by 202
      return older.result;
    }
    const newer = await this.#greet('POST', discover(this.#gatewayVersion), STATELESS_HEADERS);
    if (!newer.result) throw new OffersUnknown(`It answered ${newer.status} to a greeting of either kind.`);
    this.#isStateless = true;
    this.version = STATELESS;
    return newer.result;
  }

  async *pages(method: string, list: string): AsyncGenerator<readonly Capability[]> {
    let cursor: string | null = null;
    for (let page = 0; page < MOST_PAGES; page++) {
      const { status, result } = await this.#ask(method, cursor);
      if (!result) {
        // Templates are no capability of their own, and not every server with resources knows of them.
        if (method === 'resources/templates/list') return;
        throw new OffersUnknown(`It answered ${status} to ${method} without a result.`);
      }
      const elements = result[list];
      yield (Array.isArray(elements) ? elements : []).flatMap((element) => offered(list, element) ?? []);
      cursor = typeof result.nextCursor === 'string' ? result.nextCursor : null;
      if (cursor === null) return;
    }
    throw new OffersUnknown(`Its ${LISTS[list]!.type}s have more than ${MOST_PAGES} pages.`);
  }

  async leave() {
    if (this.#sessionId === null) return;
    await this.#greet('DELETE', null, this.#headers('')).catch(() => {});
  }

  #ask(method: string, cursor: string | null): Promise<ServerReply> {
    const { params } = discover(this.#gatewayVersion);
    const message = {
      jsonrpc: '2.0',
      id: ++this.#id,
      method,
      params: { ...(this.#isStateless && params), ...(cursor !== null && { cursor }) },
    };
    return this.#greet('POST', message, this.#headers(method));
  }

  #headers(method: string): Record<string, string> {
    if (this.#isStateless) return { ...STATELESS_HEADERS, 'mcp-method': method };
    return {
      'mcp-protocol-version': this.version ?? WITH_SESSIONS,
      ...(this.#sessionId !== null && { 'mcp-session-id': this.#sessionId }),
    };
  }
}
