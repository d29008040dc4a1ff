import type { HookResult } from '../../core/hook-results.ts';
import type { Principal } from '../../core/principal.ts';
import { type ServerSentEvent, SseParser } from '../../dialects/sse.ts';
import type { Hook, Ports } from '../../guardrails/check.ts';
import { type Guardrail, holdsStreams, spanNeeded } from '../../guardrails/guardrail.ts';
import { EMPTY, type Reading, readBody } from '../../guardrails/reading.ts';
import { judge } from '../../guardrails/run.ts';
import { WindowedEvents } from '../../guardrails/stream.ts';
import { isDenied, joined } from '../../guardrails/verdict.ts';

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

/** An answer that is streamed, as it comes from the provider. */
export interface StreamTrial extends Omit<Trial, 'on' | 'text'> {
  readonly pieces: readonly string[];
}

export interface StreamStep {
  /** What the provider said; empty at the end of the stream. */
  readonly said: string;
  /** What the client got then. */
  readonly given: string;
  /** How many characters of what was said have not been given on by then. */
  readonly held: number;
}

export interface StreamTried extends Tried {
  readonly steps: readonly StreamStep[];
  /** What the client sees: the answer to its end, 446 in its place, or an error after what was given on. */
  readonly ends: 'whole' | 'refused' | 'cut';
}

/** Lets a guardrail look at a text or a stream without a call. Whatever its checks ask, they ask as in a call. */
export interface Bench {
  readonly tryText: (who: Principal, guardrail: Guardrail, trial: Trial) => Promise<Tried>;
  readonly tryStream: (who: Principal, guardrail: Guardrail, trial: StreamTrial) => Promise<StreamTried>;
}

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

export function createBench(portsFor: (who: Principal) => Ports): Bench {
  const judgeOne = async (
    who: Principal,
    guardrail: Guardrail,
    { on, model, metadata, reading, isStream }: Omit<Trial, 'text'> & { reading: Reading; isStream: boolean },
  ) =>
    judge({
      hook: on,
      guardrails: [guardrail],
      reading,
      request: on === 'input' ? reading : EMPTY,
      surroundings: {
        status: on === 'output' ? 200 : null,
        model,
        endpointType: ENDPOINT,
        metadata,
        headers: {},
        provider: null,
        isStream: () => isStream,
      },
      ports: portsFor(who),
      written: new Set([guardrail]),
      owner: who.keyId,
    });

  const tryText: Bench['tryText'] = async (who, guardrail, trial) => {
    const side = { on: trial.on, endpoint: ENDPOINT } as const;
    const reading = readBody(Buffer.from(JSON.stringify(bodyOf(trial))), HEAD, side);
    const judged = await judgeOne(who, guardrail, { ...trial, reading, isStream: false });
    return {
      result: judged.results[0]!,
      isDenied: isDenied(judged.results),
      text: textIn(judged.reading.json, trial.on),
      holds: holdsOf(guardrail),
    };
  };

  /** Judged when it is over; the client gets everything before that, or nothing. */
  const tryAtOnce = async (who: Principal, guardrail: Guardrail, trial: StreamTrial): Promise<StreamTried> => {
    const { pieces, ...rest } = trial;
    const tried = await tryText(who, guardrail, { ...rest, on: 'output', text: pieces.join('') });
    const isHeld = tried.holds !== 'nothing';
    let held = 0;
    const steps = pieces.map((said): StreamStep => {
      held += isHeld ? said.length : 0;
      return { said, given: isHeld ? '' : said, held };
    });
    const isRefused = isHeld && tried.isDenied;
    const text = isRefused ? '' : isHeld ? tried.text : pieces.join('');
    const last = { said: '', given: isHeld ? text : '', held: isRefused ? held : 0 };
    return { ...tried, text, steps: [...steps, last], ends: isRefused ? 'refused' : 'whole' };
  };

  const tryStream: Bench['tryStream'] = async (who, guardrail, trial) => {
    const holds = holdsOf(guardrail);
    if (typeof holds !== 'number') return tryAtOnce(who, guardrail, trial);
    const { pieces, model, metadata } = trial;
    let found: readonly HookResult[] = [];
    const events = new WindowedEvents({
      side: { on: 'output', endpoint: ENDPOINT },
      span: holds,
      look: async (reading) => {
        const judged = await judgeOne(who, guardrail, { on: 'output', model, metadata, reading, isStream: true });
        found = joined(found, judged.results);
        if (isDenied(judged.results)) throw new Refused();
        return judged.reading;
      },
    });
    const steps: StreamStep[] = [];
    let [said, taken, ready] = [0, 0, ''];
    /** As for a client: nothing goes before anything was looked at. */
    const step = (piece: string, more: string, isOver = false) => {
      ready += more;
      const given = isOver || events.hasLooked ? textOfEvents(ready) : '';
      if (isOver || events.hasLooked) ready = '';
      taken += given.length;
      said += piece.length;
      steps.push({ said: piece, given, held: isOver ? 0 : Math.max(0, said - taken) });
    };
    let ends: StreamTried['ends'] = 'whole';
    let last = '';
    try {
      for (const piece of pieces) {
        last = piece;
        step(piece, await events.push([eventOf({ delta: { content: piece } })]));
      }
      last = '';
      const rest = await events.push([eventOf({ delta: {}, finish_reason: 'stop' })]);
      step('', rest + (await events.end()), true);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      ends = taken > 0 ? 'cut' : 'refused';
      steps.push({ said: last, given: '', held: Math.max(0, said + last.length - taken) });
    }
    const text = steps.map(({ given }) => given).join('');
    // A text of nothing is not looked at.
    const results =
      found.length > 0
        ? found
        : (await judgeOne(who, guardrail, { ...trial, on: 'output', reading: EMPTY, isStream: true })).results;
    return { result: results[0]!, isDenied: ends !== 'whole', text, holds, steps, ends };
  };

  return { tryText, tryStream };
}

/** What is looked at must not pass. */
class Refused extends Error {}

const holdsOf = (guardrail: Guardrail): Tried['holds'] => {
  if (!holdsStreams(guardrail)) return 'nothing';
  return guardrail.actions.stream === 'window' ? spanNeeded(guardrail) : 'whole';
};

const eventOf = (choice: object): ServerSentEvent => ({
  data: JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] }),
});

const textOfEvents = (text: string): string =>
  new SseParser()
    .push(Buffer.from(text))
    .map(
      ({ data }) =>
        (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '',
    )
    .join('');
