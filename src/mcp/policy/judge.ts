import { type Reading, readBody } from '../../guardrails/reading.ts';
import { Unreadable } from '../../guardrails/texts.ts';
import { GuardrailDenied, type HookResult, isDenied, joined } from '../../guardrails/verdict.ts';
import type { Guarding } from '../../relay/guarding/exchange-guard.ts';

/** Guardrails whose verdict the call does not wait for look at so many messages of one stream. */
const MOST_ASIDE = 100;

const SIDE = { on: 'output', endpoint: 'mcp' } as const;

/** Lets the guardrails of a call look at the messages of its answer, one by one: each is whole and nothing waits. */
export class MessageJudge {
  readonly #guarding: Guarding;
  readonly #status: number;
  #found: readonly HookResult[] = [];
  #count = 0;
  #isOver = false;

  constructor(guarding: Guarding, status: number) {
    this.#guarding = guarding;
    this.#status = status;
  }

  /** The message as it may be seen. Throws 446 when a guardrail denies it. */
  async judge(text: string, type = 'application/json'): Promise<string> {
    const reading = read(text, type);
    const guarding = this.#guarding;
    const all = [...guarding.holding, ...guarding.watching];
    const looking = ++this.#count > MOST_ASIDE ? all.filter(isAwaited) : all;
    const judged = await guarding.judge('output', reading, this.#status, looking);
    this.#found = joined(this.#found, judged.results);
    if (isDenied(judged.results))
      throw new GuardrailDenied('output', { ...guarding.results, after_request_hooks: judged.results });
    return judged.reading === reading ? text : Buffer.from(judged.reading.bytes).toString('utf8');
  }

  /** Tells the log what was found, once. */
  end() {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      this.#guarding.settle('output', this.#found);
    } catch (error) {
      if (!(error instanceof GuardrailDenied)) throw error;
    }
  }
}

const isAwaited = ({ actions }: { readonly actions: { readonly async: boolean } }) => !actions.async;

function read(text: string, type: string): Reading {
  const bytes = Buffer.from(text);
  try {
    return readBody(bytes, { type, encoding: null }, SIDE);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { ...readBody(bytes, { type, encoding: 'none' }, SIDE), obstacle: error.message };
  }
}
