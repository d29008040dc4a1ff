import { isObject, type Json } from './conversation.ts';

/** What a client said of itself when its session began. It travels in the id of the session, so every node knows it. */
export interface ClientSession {
  readonly id: string;
  /** What servers may ask it. */
  readonly capabilities: Json;
}

const ASKED = ['elicitation', 'sampling', 'roots'] as const;
const MOST_SAID = 300;

export function newSession({ capabilities }: Json): ClientSession {
  const said = isObject(capabilities) ? capabilities : {};
  const kept = ASKED.filter((name) => isObject(said[name])).map((name) => [name, bounded(said[name] as Json)]);
  return { id: crypto.randomUUID(), capabilities: Object.fromEntries(kept) };
}

/** An id stays short, whatever a client says. */
const bounded = (said: Json): Json => (JSON.stringify(said).length > MOST_SAID ? {} : said);

export const writtenSession = ({ id, capabilities }: ClientSession): string => `${id} ${JSON.stringify(capabilities)}`;

export function readSession(text: string): ClientSession {
  const [id = '', ...rest] = text.split(' ');
  return { id, capabilities: rest.length === 0 ? {} : JSON.parse(rest.join(' ')) };
}

/** Which capability of a client a question of a server needs. */
const NEEDED: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

export const mayBeAsked = (capabilities: Json, method: string): boolean => {
  const needed = NEEDED[method];
  return needed !== undefined && Object.hasOwn(capabilities, needed);
};
