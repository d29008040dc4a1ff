import type { ClientForm } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import { decodeError } from '../dialects/endpoints/errors.ts';
import { type AskedForm, type FormOptions, readGoogleForm } from '../dialects/endpoints/google-clients.ts';
import { readOllamaForm } from '../dialects/endpoints/ollama-clients.ts';
import { FramingError } from '../dialects/framing-error.ts';
import { parsed } from '../dialects/json.ts';
import type { Incoming } from '../http/upstream.ts';
import type { Prepared, Translation } from './call.ts';
import { jsonBytes, notesOf, refuseShape, replaced, wholeAnswer } from './rewritten.ts';

/**
 * What a client asks for in a format of Google's or Ollama's. What Google alone could answer is refused, unless Google is
 * asked or what cannot be said is to be left out.
 */
export function askedInForm(
  form: Exclude<ClientForm, 'listModels'>,
  body: unknown,
  options: FormOptions & { readonly provider: string; readonly isGoogle: boolean; readonly dropsUnsayable: boolean },
): AskedForm {
  const isOllamas = form === 'ollamaEmbed' || form === 'ollamaEmbeddings';
  const asked = isOllamas ? readOllamaForm(form, body) : readGoogleForm(form, body, options);
  if (options.isGoogle) return asked;
  const refused = options.dropsUnsayable ? asked.indispensable : asked.dropped.find(({ matters }) => matters);
  return refused ? fail('not_expressible', refused.path, options.provider, refused.why) : asked;
}

/** The call whose answer, in the format of the endpoint that was asked, becomes one in the client's. */
export function answeredInForm(prepared: Prepared, asked: AskedForm, provider: string): Prepared {
  const inner = prepared.translation;
  const answer: Translation['answer'] = async (incoming, report) => {
    const plain = inner ? await inner.answer(incoming, report) : incoming;
    return inClientsWords(plain, asked, provider);
  };
  const headers = { ...inner?.headers, 'accept-encoding': 'identity' };
  return { ...prepared, translation: { headers, notes: joinedNotes(notesOf(asked), inner?.notes ?? {}), answer } };
}

/** What was left out on the way into the endpoint's words, and then into the provider's. */
function joinedNotes(first: Notes, second: Notes): Notes {
  const joined: Record<string, string> = { ...first };
  for (const [name, line] of Object.entries(second)) joined[name] = joined[name] ? `${joined[name]}, ${line}` : line;
  return joined;
}

type Notes = Translation['notes'];

async function inClientsWords(incoming: Incoming, asked: AskedForm, provider: string): Promise<Incoming> {
  const { status } = incoming;
  const bytes = await wholeAnswer(incoming, provider);
  refuseShape(bytes, provider);
  const text = new TextDecoder().decode(bytes);
  const json = parsed(text);
  if (status >= 400) {
    const { body } = asked.encodeError(decodeError(status, json ?? text));
    return replaced(incoming, { status, type: 'application/json', bytes: jsonBytes(body) });
  }
  try {
    return replaced(incoming, { status, type: 'application/json', bytes: jsonBytes(asked.encode(json)) });
  } catch (error) {
    if (error instanceof FramingError) fail('upstream_failed', provider, error.message);
    throw error;
  }
}
