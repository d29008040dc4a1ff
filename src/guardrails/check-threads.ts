import { FairTurns } from '../core/fair-turns.ts';
import { type Thread, threadOnDemand } from '../core/thread.ts';
import { type CheckResult, type CheckThreads, errored, type Looked, type TextPart } from './check.ts';
import type { LookQuestion, LookReply } from './check-worker.ts';

/** Two, so that an owner with much to check leaves one thread to the others. */
const THREADS = 2;
/** What a check has loaded goes with its thread, and takes a second to load again. */
const IDLE_MS = 600_000;
/** Of one owner. Each holds its texts in memory, so long ones count more: short ones wait while a check loads. */
const MOST_WAITING = 200;
const CHARACTERS_OF_ONE = 10_000;
const LEAST_WEIGHT = 0.1;
/** Every check ends sooner by itself; a thread that does not answer by then is ended. */
const MOST_MS = 5_000;
/** What a check loads is the same for every text, so it has longer for it, on a machine that is busy. */
const MOST_LOADING_MS = 30_000;

const TOO_LONG: Looked = { result: errored(`it took more than ${MOST_MS} ms`), ms: MOST_MS };
const TOO_MANY: Looked = { result: errored('too many checks of this key are waiting'), ms: 0 };
const BROKEN: CheckResult = errored('the check failed');

type Question = Omit<LookQuestion, 'id'>;

export function createCheckThreads({ workerUrl }: { readonly workerUrl: string | URL }): CheckThreads {
  const idle: Thread<Question, Looked>[] = Array.from({ length: THREADS }, () =>
    threadOnDemand<Question, LookReply, Looked>({
      workerUrl,
      idleMs: IDLE_MS,
      read: ({ result, ms }) => ({ result: result ?? BROKEN, ms }),
      unanswered: () => TOO_LONG,
    }),
  );
  const all = [...idle];
  const turns = new FairTurns({ atOnce: THREADS, mostWaiting: MOST_WAITING });
  const ask = async (question: Question, loads: boolean): Promise<Looked> => {
    // The one that was used last is warm, and the other may rest.
    const thread = idle.pop()!;
    try {
      if (loads) {
        const loading = await within(MOST_LOADING_MS, thread, { ...question, texts: null });
        if (!loading.result.verdict) return loading;
      }
      return await within(MOST_MS, thread, question);
    } finally {
      idle.push(thread);
    }
  };
  return {
    async look({ owner, prepared, on, texts }) {
      const json = jsonOf(texts);
      const question = { check: prepared.id, parameters: prepared.given, on, texts: json };
      const weight = Math.max(LEAST_WEIGHT, json.length / CHARACTERS_OF_ONE);
      return (await turns.run(owner, () => ask(question, Boolean(prepared.check.load)), weight)) ?? TOO_MANY;
    },
    close() {
      for (const thread of all) thread.close();
    },
  };
}

async function within(ms: number, thread: Thread<Question, Looked>, question: Question): Promise<Looked> {
  const timer = setTimeout(() => thread.close(), ms);
  try {
    return await thread.ask(question);
  } finally {
    clearTimeout(timer);
  }
}

/** Written once for all checks of a call. */
const written = new WeakMap<readonly TextPart[], string>();

function jsonOf(texts: readonly TextPart[]): string {
  let json = written.get(texts);
  if (json === undefined) {
    json = JSON.stringify(texts.map(({ text, role, kind, turn, where }) => ({ text, role, kind, turn, where })));
    written.set(texts, json);
  }
  return json;
}
