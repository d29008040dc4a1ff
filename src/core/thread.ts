export interface ThreadOptions<Question extends object, Reply, Answer> {
  /** Given from outside, because a compiled executable has addresses of its own. */
  readonly workerUrl: string | URL;
  /** After so long without a question the thread is ended: its memory is worth more than the moment it takes to start. */
  readonly idleMs: number;
  /** What a reply says; throws the fault that it tells of. */
  readonly read: (reply: Reply) => Answer;
  /** The answer that the asking code gets when the thread has ended before it answered; may throw. */
  readonly unanswered: (question: Question) => Answer;
}

export interface Thread<Question extends object, Answer> {
  ask(question: Question): Promise<Answer>;
  /** Ends it; a later question begins it again. */
  close(): void;
}

interface Waiting<Question, Answer> {
  readonly question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * A thread that is begun with the first question, and again whenever it has ended. The worker gets each question with an
 * `id`, and its reply has the same one.
 */
export function threadOnDemand<Question extends object, Reply extends { readonly id: number }, Answer>({
  workerUrl,
  idleMs,
  read,
  unanswered,
}: ThreadOptions<Question, Reply, Answer>): Thread<Question, Answer> {
  const waiting = new Map<number, Waiting<Question, Answer>>();
  let worker: Worker | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;

  const end = () => {
    clearTimeout(timer);
    worker?.terminate();
    worker = null;
    for (const one of waiting.values()) settle(one, () => unanswered(one.question));
    waiting.clear();
  };
  const begin = (): Worker => {
    const made = new Worker(workerUrl);
    made.unref?.();
    made.onmessage = ({ data }: MessageEvent<Reply>) => {
      const one = waiting.get(data.id);
      waiting.delete(data.id);
      if (one) settle(one, () => read(data));
    };
    // A thread may also end without an error: callers that wait for it are told all the same, unless another has begun since.
    const ended = () => (worker === made ? end() : undefined);
    made.onerror = ended;
    made.addEventListener('close', ended);
    return made;
  };
  const rest = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (waiting.size === 0 ? end() : rest()), idleMs);
    timer.unref?.();
  };

  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { question, resolve, reject });
        worker ??= begin();
        worker.postMessage({ ...question, id });
        rest();
      }),
    close: end,
  };
}

function settle<Answer>({ resolve, reject }: Waiting<unknown, Answer>, answer: () => Answer) {
  try {
    resolve(answer());
  } catch (error) {
    reject(error);
  }
}
