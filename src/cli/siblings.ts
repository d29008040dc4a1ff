import type { FamilySnapshot } from '../telemetry/metrics/family.ts';
import type { Siblings } from '../telemetry/metrics/node.ts';

/** A process that hangs must not take the others' figures with it: scrapers give up after ten seconds. */
const ANSWER_WITHIN_MS = 2_000;

/** From the process that was scraped to the one that started it, which passes it on to all the others. */
export interface AskMessage {
  readonly kind: 'ask';
  readonly from: number;
  readonly ask: number;
}

/** Back on the same way. Null: there is no such process at the moment. */
export interface AnswerMessage {
  readonly kind: 'answer';
  readonly from: number;
  readonly to: number;
  readonly ask: number;
  /** As JSON, so that what is passed on is one text. */
  readonly families: string | null;
}

/** The end of a channel to the process that started this one. */
export interface Channel {
  send(message: AskMessage | AnswerMessage): void;
  onMessage(take: (message: AskMessage | AnswerMessage) => void): void;
}

export const parentChannel: Channel = {
  send: (message) => void process.send?.(message),
  onMessage: (take) => void process.on('message', take),
};

interface Question {
  readonly answers: Map<number, readonly FamilySnapshot[] | null>;
  missing: number;
  readonly done: () => void;
}

/** Asks the other processes of the node by way of the one that started them all. */
export function createSiblings(own: number, count: number, channel: Channel = parentChannel): Siblings {
  const questions = new Map<number, Question>();
  let asked = 0;
  let read: () => readonly FamilySnapshot[] = () => [];

  channel.onMessage((message) => {
    if (message.kind === 'ask')
      return channel.send({
        ...message,
        kind: 'answer',
        from: own,
        to: message.from,
        families: JSON.stringify(read()),
      });
    const question = questions.get(message.ask);
    if (!question) return;
    question.answers.set(message.from, message.families === null ? null : JSON.parse(message.families));
    if (--question.missing === 0) question.done();
  });

  return {
    own,
    answerBy: (reading) => {
      read = reading;
    },
    ask: async () => {
      const { promise, resolve: done } = Promise.withResolvers<void>();
      const others = Array.from({ length: count }, (_, number) => number).filter((number) => number !== own);
      const answers = new Map<number, readonly FamilySnapshot[] | null>(others.map((number) => [number, null]));
      const ask = asked++;
      questions.set(ask, { answers, missing: others.length, done });
      const timer = setTimeout(done, ANSWER_WITHIN_MS);
      channel.send({ kind: 'ask', from: own, ask });
      await promise;
      clearTimeout(timer);
      questions.delete(ask);
      return answers;
    },
  };
}
