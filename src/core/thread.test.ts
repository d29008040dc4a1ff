import { afterAll, expect, test } from 'bun:test';
import { type Thread, threadOnDemand } from './thread.ts';

interface Question {
  readonly does: 'answer' | 'fail' | 'crash' | 'leave' | 'nothing';
}
type Reply = { readonly id: number; readonly number: number } | { readonly id: number; readonly fault: string };

/** Counts the questions of one life; how long it lives shows in the numbers. */
const worker = `
  let asked = 0;
  self.onmessage = ({ data: { id, does } }) => {
    asked++;
    if (does === 'answer') self.postMessage({ id, number: asked });
    if (does === 'fail') self.postMessage({ id, fault: 'on purpose' });
    if (does === 'crash') throw new Error('on purpose');
    if (does === 'leave') process.exit(0);
  };
`;
const workerUrl = URL.createObjectURL(new Blob([worker], { type: 'text/javascript' }));
const threads: Thread<Question, number | string>[] = [];
afterAll(() => {
  for (const thread of threads) thread.close();
});

function start(idleMs = 60_000) {
  const thread = threadOnDemand<Question, Reply, number | string>({
    workerUrl,
    idleMs,
    read: (reply) => {
      if ('fault' in reply) throw new Error(reply.fault);
      return reply.number;
    },
    unanswered: ({ does }) => `${does} was not answered`,
  });
  threads.push(thread);
  return thread;
}

test('one thread answers all questions, and a fault is thrown to whoever asked', async () => {
  const thread = start();
  const [first, failed, third] = await Promise.allSettled([
    thread.ask({ does: 'answer' }),
    thread.ask({ does: 'fail' }),
    thread.ask({ does: 'answer' }),
  ]);
  expect(first).toEqual({ status: 'fulfilled', value: 1 });
  expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'on purpose' } });
  expect(third).toEqual({ status: 'fulfilled', value: 3 });
});

test('whoever waits for a thread that dies or is closed is told, and the next question begins another', async () => {
  const thread = start();
  expect(await Promise.all([thread.ask({ does: 'nothing' }), thread.ask({ does: 'crash' })])).toEqual([
    'nothing was not answered',
    'crash was not answered',
  ]);
  expect(await thread.ask({ does: 'answer' })).toBe(1);

  expect(await thread.ask({ does: 'leave' })).toBe('leave was not answered');
  expect(await thread.ask({ does: 'answer' })).toBe(1);

  const waiting = thread.ask({ does: 'nothing' });
  thread.close();
  expect(await waiting).toBe('nothing was not answered');
  expect(await thread.ask({ does: 'answer' })).toBe(1);
});

test('an idle thread is ended', async () => {
  const thread = start(20);
  expect(await thread.ask({ does: 'answer' })).toBe(1);
  const deadline = Date.now() + 60_000;
  let number: number | string = 0;
  for (let pauseMs = 30; number !== 1 && Date.now() < deadline; pauseMs *= 2) {
    await Bun.sleep(pauseMs);
    number = await thread.ask({ does: 'answer' });
  }
  expect(number).toBe(1);
});
