import { FairTurns } from '../core/fair-turns.ts';
import { type Thread, threadOnDemand } from '../core/thread.ts';
import { type CheckResult, type CheckThreads, errored, type Looked, type TextPart } from './check.ts';
import type { LookQuestion, LookReply } from './check-worker.ts';

/** Two, so that an owner with much to check leaves one thread to the others. */
const THREADS = 2;
const IDLE_MS = 60_000;
/** Of one owner. Each holds its texts in memory. */
const MOST_WAITING = 200;
/** Every check ends sooner by itself; a thread that does not answer by then is ended. */
const MOST_MS = 5_000;

const TOO_LONG: Looked = { result: errored(`it took more than ${MOST_MS} ms`), ms: MOST_MS };
const TOO_MANY: Looked = { result: errored(`more than ${MOST_WAITING} checks of this key are waiting`), ms: 0 };
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
  const ask = async (question: Question): Promise<Looked> => {
    // The one that was used last is warm, and the other may rest.
    const thread = idle.pop()!;
    const timer = setTimeout(() => thread.close(), MOST_MS);
    try {
      return await thread.ask(question);
    } finally {
      clearTimeout(timer);
      idle.push(thread);
    }
  };
  return {
    async look({ owner, prepared, on, texts }) {
      const question = { check: prepared.id, parameters: prepared.given, on, texts: jsonOf(texts) };
      return (await turns.run(owner, () => ask(question))) ?? TOO_MANY;
    },
    close() {
      for (const thread of all) thread.close();
    },
  };
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
