import { fail, GatewayError } from '../../core/errors.ts';
import { GuardrailDenied } from '../../guardrails/verdict.ts';
import { type SentHeaders, withHeaders } from '../../http/headers.ts';
import type { Incoming } from '../../http/upstream.ts';
import type { Guarding } from '../../relay/guarding/exchange-guard.ts';
import type { Guard } from '../../relay/guarding/guard.ts';
import { type Capability, type CapabilityType, LIST_METHODS } from '../message/capability.ts';
import type { MessageLook } from '../message/look.ts';
import { type ReadMessage, readMessages, refused, type Target } from '../message/message.ts';
import { RPC, RpcError, type RpcId } from '../message/rpc-error.ts';
import type { AskedCall, McpPolicy, PassedMessage, PolicedCall } from '../relay/policy-port.ts';
import { type Gate, gateFor, isOpenTo, type PolicyFacts } from './gate.ts';
import { MessageJudge } from './judge.ts';
import { checkParamHeaders, mirrored } from './param-headers.ts';
import { denial, policedAnswer } from './screening.ts';
import type { PolicyStore } from './stored.ts';

export interface McpPolicyDeps {
  readonly stored: Pick<PolicyStore, 'of' | 'record'>;
  readonly guard: Guard;
}

/** Messages of people and programs are small; what a policy reads is held in memory. */
const MOST_MESSAGE_BYTES = 4 << 20;

export const createMcpPolicy = ({ stored, guard }: McpPolicyDeps): McpPolicy => ({
  open: async (asked) => {
    const { server, caller, headers, log } = asked;
    const facts = await stored.of(server);
    if (!isOpenTo(facts, caller)) fail('mcp_access_denied', server.slug);
    const gate = gateFor(server.policy, facts, caller);
    const { principal } = caller;
    const guarding = await guard({
      who: principal,
      principal,
      asked: server.policy.guardrails,
      endpoint: 'mcp',
      headers,
      model: null,
      provider: 'mcp',
      isStream: () => false,
      isStrict: true,
      log,
    });
    if (!gate.isWatching && !guarding && !asked.isCounted) return null;
    return new Policed({ asked, gate, facts, guarding, stored });
  },
  isOpen: async (server, caller) => isOpenTo(await stored.of(server), caller),
});

interface Parts {
  readonly asked: AskedCall;
  readonly gate: Gate;
  readonly facts: PolicyFacts;
  readonly guarding: Guarding | null;
  readonly stored: McpPolicyDeps['stored'];
}

class Policed implements PolicedCall {
  readonly mostBytes = MOST_MESSAGE_BYTES;
  readonly #parts: Parts;
  #body: Uint8Array | null = null;
  #messages: readonly ReadMessage[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  read(body: Uint8Array | null): MessageLook {
    if (body === null) return { method: null, name: null };
    this.#body = body;
    this.#messages = readMessages(body, this.#parts.asked.headers);
    if (this.#messages.length > 1 && this.#parts.asked.isCounted)
      throw refused('calls are counted one by one here; send no batch', RPC.invalidRequest);
    this.#checkTargets(this.#messages);
    return this.#look();
  }

  /** Of a batch, as little as of a message that was not read. */
  #look(): MessageLook {
    const [only, ...more] = this.#messages;
    if (!only || more.length > 0) return { method: null, name: null };
    const [target] = only.targets;
    const name = target ? this.#parts.gate.spelt(target.type, target.name) : null;
    return { method: only.method, name };
  }

  async admit(): Promise<PassedMessage> {
    const { guarding, asked } = this.#parts;
    if (!guarding) return { body: null, headers: asked.headers };
    const [only] = this.#messages;
    if (only && guarding.readsRequest) checkParamHeaders(asked.headers, only);
    const passed = await this.#judged(guarding);
    const headers = withHeaders(asked.headers, passed.headers);
    if (!passed.body) return { body: null, headers };
    return { body: passed.body, headers: this.#afterChange(passed.body, headers) };
  }

  async answer(incoming: Incoming): Promise<Incoming> {
    const { asked, gate, guarding, stored } = this.#parts;
    const mayList = this.#messages.length !== 1 || Object.hasOwn(LIST_METHODS, this.#messages[0]!.method ?? '');
    const shows = gate.isWatching && mayList ? gate.shows : null;
    const judge = guarding?.judgesAnswers ? new MessageJudge(guarding, incoming.status) : null;
    if (!shows && !judge) return incoming;
    return policedAnswer(incoming, {
      server: asked.server.slug,
      shows,
      seen: (capabilities) => this.#seen(capabilities, stored),
      judge,
      requestId: this.#requestId,
    });
  }

  get #requestId(): RpcId {
    return this.#messages.length === 1 ? this.#messages[0]!.id : null;
  }

  async #judged(guarding: Guarding) {
    try {
      return await guarding.input({
        bytes: guarding.readsRequest ? this.#body : null,
        type: 'application/json',
        encoding: null,
      });
    } catch (error) {
      if (error instanceof GuardrailDenied && this.#body !== null) throw denial(error, this.#requestId);
      throw error;
    }
  }

  /** Whatever has become of a message is held against the same rules as what was sent. */
  #afterChange(body: Uint8Array, headers: SentHeaders): SentHeaders {
    const before = this.#messages;
    this.#messages = readMessages(body, { 'content-type': 'application/json' });
    this.#checkTargets(this.#messages);
    return before.length === 1 && this.#messages.length === 1
      ? mirrored(headers, before[0]!, this.#messages[0]!)
      : headers;
  }

  #checkTargets(messages: readonly ReadMessage[]) {
    for (const { id, targets } of messages) {
      for (const target of targets) {
        const refusal = this.#parts.gate.refusal(target.type, target.name);
        if (refusal === 'unapproved') throw refusedWith('mcp_definition_unapproved', [shown(target.name)], id);
        if (refusal !== null) throw unavailable(target, id);
      }
    }
  }

  async #seen(capabilities: readonly Capability[], stored: Parts['stored']): Promise<void> {
    const { asked, facts } = this.#parts;
    const { server, log } = asked;
    if (!server.policy.pinning) return;
    const flagged = capabilities.filter(
      ({ type, name, hash, flags }) =>
        type === 'tool' && (flags.includes('hidden_unicode') || facts.tools.get(name)?.approvedHash !== hash),
    );
    // What was there from the first look on is no news.
    const told = flagged.filter(({ name, flags }) => flags.length > 0 || facts.tools.has(name));
    if (told.length > 0) {
      const names = told.map(({ name }) => shown(name)).join(' ');
      log.metadata = { ...log.metadata, 'mcp.flagged': names.slice(0, LONGEST_NOTE) };
    }
    await stored.record(server, capabilities, facts);
  }
}

const LONGEST_NOTE = 256;
const LONGEST_SHOWN = 128;
/** Names are others' to choose, and stand in texts of ours. */
const shown = (name: string): string => JSON.stringify(name.slice(0, LONGEST_SHOWN));

const KINDS: Readonly<Record<CapabilityType, string>> = {
  tool: 'Tool',
  prompt: 'Prompt',
  resource: 'Resource',
  resource_template: 'Resource template',
};

function unavailable({ type, name }: Target, id: RpcId): RpcError {
  // By `uri` and nothing else clients know that it is the resource that is missing.
  const data = type === 'resource' ? { uri: name } : undefined;
  return refusedWith('mcp_capability_unavailable', [KINDS[type], shown(name)], id, data);
}

const refusedWith = (
  code: 'mcp_capability_unavailable' | 'mcp_definition_unapproved',
  facts: string[],
  id: RpcId,
  data?: Readonly<Record<string, unknown>>,
): RpcError => new RpcError(new GatewayError(code, facts), { id, code: RPC.invalidParams, ...(data && { data }) });
