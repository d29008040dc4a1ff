import type { HookResult } from '../../core/hook-results.ts';
import type { Principal } from '../../core/principal.ts';
import type { Hook, Ports } from '../../guardrails/check.ts';
import { type Guardrail, holdsStreams, spanNeeded } from '../../guardrails/guardrail.ts';
import { EMPTY, readBody } from '../../guardrails/reading.ts';
import { judge } from '../../guardrails/run.ts';
import { isDenied } from '../../guardrails/verdict.ts';

/** What a guardrail is tried on: one text, as a request says it or an answer. */
export interface Trial {
  readonly on: Hook;
  readonly text: string;
  readonly model: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Tried {
  readonly result: HookResult;
  readonly isDenied: boolean;
  /** The text after what checks have changed. */
  readonly text: string;
  /** What a streamed answer waits for: nothing, so many characters, or its end. */
  readonly holds: 'nothing' | number | 'whole';
}

/** Lets a guardrail look at a text without a call. Whatever its checks ask, they ask as in a call. */
export type Bench = (who: Principal, guardrail: Guardrail, trial: Trial) => Promise<Tried>;

const ENDPOINT = 'chatComplete';
const HEAD = { type: 'application/json', encoding: null };

const bodyOf = ({ on, text, model }: Trial) =>
  on === 'input'
    ? { ...(model !== null && { model }), messages: [{ role: 'user', content: text }] }
    : { choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }] };

const textIn = (json: unknown, on: Hook): string => {
  const { messages, choices } = json as {
    messages?: { content: string }[];
    choices?: { message: { content: string } }[];
  };
  return (on === 'input' ? messages?.[0]?.content : choices?.[0]?.message.content) ?? '';
};

export const createBench =
  (portsFor: (who: Principal) => Ports): Bench =>
  async (who, guardrail, trial) => {
    const side = { on: trial.on, endpoint: ENDPOINT } as const;
    const reading = readBody(Buffer.from(JSON.stringify(bodyOf(trial))), HEAD, side);
    const judged = await judge({
      hook: trial.on,
      guardrails: [guardrail],
      reading,
      request: trial.on === 'input' ? reading : EMPTY,
      surroundings: {
        status: trial.on === 'output' ? 200 : null,
        model: trial.model,
        endpointType: ENDPOINT,
        metadata: trial.metadata,
        headers: {},
        provider: null,
        isStream: () => false,
      },
      ports: portsFor(who),
      written: new Set([guardrail]),
      owner: who.keyId,
    });
    const held = guardrail.actions.stream === 'window' ? spanNeeded(guardrail) : 'whole';
    return {
      result: judged.results[0]!,
      isDenied: isDenied(judged.results),
      text: textIn(judged.reading.json, trial.on),
      holds: holdsStreams(guardrail) ? held : 'nothing',
    };
  };
