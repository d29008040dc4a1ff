import { postJson } from './exchange.ts';
import type { ChaosNode } from './node.ts';
import { nameOf } from './provider.ts';

/** A key that is called with, and what it may take. */
export interface Caller {
  readonly id: string;
  readonly key: string;
  /** Null: it has no limits. Dollars for cost. */
  readonly limit: { readonly counts: 'requests' | 'tokens' | 'cost'; readonly value: number } | null;
  readonly ask: Ask;
}

/** What the answer may take at most, and what it takes: a provider need not keep to what it was told. */
export interface Ask {
  readonly maxTokens: number;
  readonly answerTokens: number;
}

/** One request of a client, from its first to its last byte. */
export interface Call {
  readonly name: string;
  readonly caller: Caller;
  readonly node: ChaosNode;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The status; `lost` when the connection broke instead. */
  readonly outcome: number | 'lost';
  /** The error's code, or what happened to the connection. */
  readonly why: string | null;
}

export const bodyOf = (name: string, { maxTokens, answerTokens }: Ask) => ({
  model: name,
  messages: [{ role: 'user', content: `Answer with ${answerTokens} tokens.` }],
  max_tokens: maxTokens,
});

/** Clients: every call they make is in `calls` when it has ended. */
export class Clients {
  readonly calls: Call[] = [];
  readonly #nodes: readonly ChaosNode[];
  readonly #open = new Map<ChaosNode, number>();
  #made = 0;
  #turn = 0;

  constructor(nodes: readonly ChaosNode[]) {
    this.#nodes = nodes;
  }

  /** The next of the nodes that a balancer takes for alive; null when there is none. */
  pick(): ChaosNode | null {
    const alive = this.#nodes.filter(({ isServing }) => isServing);
    return alive[this.#turn++ % alive.length] ?? null;
  }

  /** Calls under way on a node. */
  openOn(node: ChaosNode): number {
    return this.#open.get(node) ?? 0;
  }

  async call(caller: Caller, node: ChaosNode): Promise<Call> {
    const name = nameOf(++this.#made);
    const startedAt = performance.now();
    const headers = { 'x-gateway-api-key': caller.key, 'x-gateway-virtual-key': 'sim' };
    this.#open.set(node, this.openOn(node) + 1);
    const answer = await postJson(`${node.url}/v1/chat/completions`, headers, bodyOf(name, caller.ask));
    this.#open.set(node, this.openOn(node) - 1);
    const call = { name, caller, node, startedAt, endedAt: performance.now(), ...answer };
    this.calls.push(call);
    return call;
  }

  /**
   * A client that wants an answer: it calls again when no node listens, or when the node is just leaving. When it lost
   * the connection it does not know whether the call was carried out, and does not call again.
   */
  async insist(caller: Caller, limitMs = 60_000): Promise<Call> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const node = this.pick();
      const call = node && (await this.call(caller, node));
      const wasTaken = call && call.why !== 'refused' && call.outcome !== 503;
      if (wasTaken) return call;
      if (performance.now() > deadline) throw new Error(`no node answered within ${limitMs} ms: ${call?.why}`);
      await Bun.sleep(20);
    }
  }

  /** Open loop: so many calls a second, however long the answers take, dealt out to nodes and callers in turn. */
  load(callers: readonly Caller[], rate: number) {
    const open = new Set<Promise<unknown>>();
    const startedAt = performance.now();
    let sent = 0;
    let isOver = false;
    const send = () => {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * rate);
      for (; sent < due; sent++) {
        const node = this.pick();
        if (!node) continue;
        const call = this.call(callers[sent % callers.length]!, node);
        open.add(call);
        void call.finally(() => open.delete(call));
      }
    };
    const running = (async () => {
      while (!isOver) {
        send();
        await Bun.sleep(5);
      }
      await Promise.all(open);
    })();
    return {
      stop: () => {
        isOver = true;
        return running;
      },
    };
  }
}
