import { BoundedMap } from '../core/bounded-map.ts';
import { schemaOf } from '../core/schema.ts';
import type { CheckResult, Facts, Hook, Ports, TextPart } from './check.ts';
import { checks } from './checks/index.ts';

declare const self: Worker;

export interface LookQuestion {
  readonly id: number;
  readonly check: string;
  /** Its parameters as they were given, as JSON. */
  readonly parameters: string;
  readonly on: Hook;
  /** The texts as JSON: one text is handed over at once, and thousands of objects are not. Null: it is only to load. */
  readonly texts: string | null;
}

export type LookReply = { readonly id: number; readonly ms: number; readonly result: CheckResult | null };

/** Checks look here at texts that would hold the event loop up. */
self.onmessage = async ({ data }: MessageEvent<LookQuestion>) => {
  const startedAt = performance.now();
  const result = await look(data);
  const reply: LookReply = { id: data.id, ms: performance.now() - startedAt, result };
  self.postMessage(reply);
};

const elsewhere = () => Promise.reject(new Error('a check asks for this beside the event loop alone'));
const PORTS: Ports = {
  fetch: elsewhere,
  resolves: elsewhere,
  verifyJwt: elsewhere,
  recheckJwt: elsewhere,
  now: Date.now,
};

/** Null: the check failed. */
async function look({ check, parameters, on, texts }: LookQuestion): Promise<CheckResult | null> {
  try {
    if (texts === null) return await loaded(check);
    // What runs here looks at nothing else.
    const facts = { on, texts: partsIn(texts) } as Facts;
    return await checks.get(check)!.run(facts, preparedParameters(check, parameters), PORTS);
  } catch {
    return null;
  }
}

const LOADED: CheckResult = { verdict: true, data: null };

async function loaded(check: string): Promise<CheckResult> {
  await checks.get(check)!.load?.();
  return LOADED;
}

/** Compiled patterns and schemas. */
const prepared = new BoundedMap<string, unknown>(200);

function preparedParameters(check: string, given: string): unknown {
  const key = `${check} ${given}`;
  let found = prepared.get(key);
  if (found === undefined) {
    found = schemaOf(checks.get(check)!.parameters).parse(JSON.parse(given));
    prepared.set(key, found);
  }
  return found;
}

/** All checks of a call look at the same texts. */
let last: { readonly json: string; readonly parts: readonly TextPart[] } | null = null;

function partsIn(json: string): readonly TextPart[] {
  if (last?.json !== json) last = { json, parts: JSON.parse(json) };
  return last.parts;
}
