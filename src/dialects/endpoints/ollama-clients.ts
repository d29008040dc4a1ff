import { Fields, fault } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import { countIn, objectIn, objectsIn, present } from '../json.ts';
import { encodeError } from '../ollama/reply.ts';
import { hint } from './endpoint.ts';
import type { AskedForm } from './google-clients.ts';

/** Embeddings as Ollama's clients ask for them: of one text or several, or, by the older address, of one prompt. */
export function readOllamaForm(form: 'ollamaEmbed' | 'ollamaEmbeddings', body: unknown): AskedForm {
  const fields = new Fields(body, '');
  const model = fields.string('model');
  const isOld = form === 'ollamaEmbeddings';
  const name = isOld ? 'prompt' : 'input';
  const given = fields.raw()[name];
  const texts = Array.isArray(given) && !isOld ? fields.strings(name)! : [fields.string(name)];
  if (texts.length === 0) fault(name, 'a string or a list of at least one', given);
  const dimensions = fields.integer('dimensions', 1);
  return {
    path: '/embeddings',
    body: present({ model, input: texts, dimensions }),
    own: null,
    dropped: Object.keys(fields.rest() ?? {}).map((member) => hint(member, 'only Ollama has this member')),
    encodeError,
    encode: (answer) => {
      const { data, usage } = objectIn(answer);
      const embeddings = objectsIn(data).map(({ embedding }) => embedding);
      if (embeddings.length !== texts.length || !embeddings.every(Array.isArray))
        throw new FramingError(`the answer has not the ${texts.length} vectors that were asked for`);
      if (isOld) return { embedding: embeddings[0] };
      const tokens = countIn(objectIn(usage).prompt_tokens);
      return present({ model, embeddings, prompt_eval_count: tokens });
    },
  };
}
