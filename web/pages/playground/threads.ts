import { useCallback, useRef, useState } from 'react';
import { useMay } from '../../shell/session.tsx';
import { type Answer, ask, callsIn, costOf, NOTHING, textOfAnswer } from './answer.ts';
import type { Message } from './draft.ts';

/** A message of a conversation; of an answer, also what is known of its call. */
export interface Item {
  readonly message: Message;
  readonly answer?: Answer;
}

export interface Thread {
  readonly key: number;
  readonly items: readonly Item[];
  /** The answer that is coming. */
  readonly coming: Answer | null;
}

export interface Run {
  readonly index: number;
  readonly items: readonly Item[];
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

let lastKey = 0;
export const newThread = (items: readonly Item[] = []): Thread => ({ key: ++lastKey, items, coming: null });

const messageOf = (answer: Answer): Message => {
  const calls = callsIn(answer);
  return { role: 'assistant', text: textOfAnswer(answer), ...(calls.length > 0 && { calls }) };
};

/** Conversations side by side, each with its own answers. */
export function useThreads() {
  const may = useMay();
  const mayRead = may('logs.read');
  const [threads, setThreads] = useState<readonly Thread[]>(() => [newThread()]);
  const running = useRef(new Map<number, AbortController>());

  const change = useCallback(
    (key: number, to: (thread: Thread) => Thread) =>
      setThreads((before) => before.map((thread) => (thread.key === key ? to(thread) : thread))),
    [],
  );

  const run = useCallback(
    async (key: number, { items, body, headers }: Omit<Run, 'index'>) => {
      running.current.get(key)?.abort();
      const controller = new AbortController();
      running.current.set(key, controller);
      change(key, (thread) => ({ ...thread, items, coming: NOTHING }));
      const answer = await ask({
        ...{ body, headers, signal: controller.signal },
        onPart: (coming) => change(key, (thread) => ({ ...thread, coming })),
      });
      running.current.delete(key);
      const given: Item = { message: messageOf(answer), answer };
      change(key, (thread) => ({ ...thread, items: [...items, given], coming: null }));
      if (!answer.requestId || !mayRead || answer.error) return;
      const cost = await costOf(answer.requestId, new AbortController().signal);
      change(key, (thread) => ({
        ...thread,
        items: thread.items.map((item) => (item === given ? { ...given, answer: { ...answer, cost } } : item)),
      }));
    },
    [change, mayRead],
  );

  const stop = useCallback(() => {
    for (const controller of running.current.values()) controller.abort();
  }, []);

  return { threads, setThreads, run, stop, isRunning: threads.some(({ coming }) => coming !== null) };
}
