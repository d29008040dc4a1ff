import { addressOf } from './address.ts';

/** A GET that a page asks when it is opened. */
export interface Question {
  readonly path: string;
  readonly query: object;
  /** Without all of them, it would be refused. */
  readonly scopes: readonly string[];
}

interface Early {
  /** What pages call now, so that they ask for the same time. */
  readonly at: number;
  /** Where the user acted when it was asked. */
  readonly workspace: string;
  readonly answers: Map<string, { readonly answer: Promise<Response>; readonly leave: AbortController }>;
}

/** Where answers lie: a script that is no module cannot hand them on. */
const place = globalThis as { gatewayEarly?: Early };

/** When this page was opened. */
export const openedAt = (): number => place.gatewayEarly?.at ?? Date.now();

/** Asks before there is anything that could take the answers: they are on their way while scripts are read. */
export function askEarly(questions: readonly Question[], { at, workspace }: Omit<Early, 'answers'>) {
  const answers: Early['answers'] = new Map();
  for (const { path, query } of questions) {
    const leave = new AbortController();
    const address = addressOf(path, {}, query);
    const answer = fetch(address, {
      credentials: 'same-origin',
      headers: { 'x-gateway-workspace': workspace },
      signal: leave.signal,
    });
    // Whoever takes the answer is told.
    answer.catch(() => {});
    answers.set(address, { answer, leave });
  }
  place.gatewayEarly = { at, workspace, answers };
}

const askedIn = (workspace: string): Early['answers'] | undefined =>
  place.gatewayEarly?.workspace === workspace ? place.gatewayEarly.answers : undefined;

/** Whether there is an answer to be taken. */
export const isAskedEarly = (address: string, workspace: string): boolean => askedIn(workspace)?.has(address) ?? false;

/** What was asked early is taken once, and by who acts in the same workspace. */
export function takeEarly(address: string, workspace: string): Promise<Response> | null {
  const found = askedIn(workspace)?.get(address);
  if (!found) return null;
  askedIn(workspace)!.delete(address);
  return found.answer;
}

/** Nobody will take what is left. */
export function leaveEarly() {
  for (const { leave } of place.gatewayEarly?.answers.values() ?? []) leave.abort();
  place.gatewayEarly?.answers.clear();
}
