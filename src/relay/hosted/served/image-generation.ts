import { fail } from '../../../core/errors.ts';
import { Fields, fault } from '../../../dialects/fields.ts';
import type { JsonObject } from '../../../dialects/ir.ts';
import { isObject, objectIn, objectsIn, parsed, present, textIn } from '../../../dialects/json.ts';
import { IMAGE_GENERATION } from '../../../dialects/responses/hosted-items.ts';
import { SseParser } from '../../../dialects/sse.ts';
import type { HostedCall, HostedCaller, HostedTool, OpenTool, Ran } from '../hosted-tool.ts';
import { argumentIn, askServing, type ServedBy, type ServedDeps, servedFor, whyNot } from './served.ts';

/** `image_generation` of the Responses API, by a model that makes images. */
export const createImageGeneration = (deps: ServedDeps): HostedTool => ({
  standsIn: true,
  open: async (tool, at, caller) => {
    if (!caller.isWanted && !caller.isKept) return null;
    const by = await servedFor(deps, caller.who);
    if (!by) return caller.isWanted ? fail('hosted_tool_off', at, IMAGE_GENERATION) : null;
    return openTool(readTool(tool, at, by), by, caller, deps);
  },
});

/** What is asked of the images, in the words of the Images API. */
interface Asked {
  readonly wishes: JsonObject;
  readonly partialImages: number;
}

const MOST_PARTIAL = 3;
/** Of one image, in base64. It is kept with its response. */
const MOST_BYTES = 24 << 20;
const PROMPT_CHARACTERS = 32_000;

function readTool(tool: JsonObject, at: string, { model }: ServedBy): Asked {
  const fields = new Fields(tool, at);
  const refuse = (name: string, why: string) => fail('invalid_request', fields.pathOf(name), why);
  for (const name of ['input_image_mask', 'input_fidelity'])
    if (fields.has(name)) refuse(name, 'is not possible here: images are made from a prompt alone; leave it out');
  if (fields.oneOf('action', ['generate', 'edit', 'auto']) === 'edit')
    refuse('action', 'must be generate or auto: images are made from a prompt alone');
  const named = fields.optionalString('model');
  if (named !== undefined && named !== model)
    refuse('model', `must be "${model}", which makes the images of this gateway, or absent`);
  const partialImages = fields.integer('partial_images', 0) ?? 0;
  if (partialImages > MOST_PARTIAL) fault(fields.pathOf('partial_images'), `0 to ${MOST_PARTIAL}`, partialImages);
  const compression = fields.integer('output_compression', 0);
  if (compression !== undefined && compression > 100)
    fault(fields.pathOf('output_compression'), '0 to 100', compression);
  const wishes = present({
    size: fields.optionalString('size'),
    quality: fields.optionalString('quality'),
    background: fields.optionalString('background'),
    moderation: fields.optionalString('moderation'),
    output_format: fields.oneOf('output_format', ['png', 'webp', 'jpeg']),
    output_compression: compression,
  });
  const known = ['type', 'action', 'model', 'partial_images', 'input_image_mask', 'input_fidelity'];
  for (const name of Object.keys(tool))
    if (!known.includes(name) && !WISHES.includes(name)) refuse(name, 'is not known here; leave it out');
  return { wishes, partialImages };
}

const WISHES = ['size', 'quality', 'background', 'moderation', 'output_format', 'output_compression'];

const event = (name: string, rest: JsonObject = {}) => ({ type: `response.image_generation_call.${name}`, ...rest });

const openTool = (asked: Asked, by: ServedBy, caller: HostedCaller, deps: ServedDeps): OpenTool => ({
  functions: [
    {
      name: IMAGE_GENERATION,
      item: 'image_generation_call',
      description:
        'Makes an image from a description and shows it to the user, who sees it beside your answer. You do not see it: do not repeat or link it.',
      parameters: {
        type: 'object',
        properties: { prompt: { type: 'string', description: 'What the image shows, in detail.' } },
        required: ['prompt'],
        additionalProperties: false,
      },
      isChosenBy: ({ type }) => type === IMAGE_GENERATION,
      begins: ({ id }) => ({
        item: { id, type: 'image_generation_call', status: 'in_progress', result: null },
        events: [event('in_progress'), event('generating')],
      }),
      runs: (call) => made(call, asked, by, caller, deps),
    },
  ],
});

async function made(
  call: HostedCall,
  { wishes, partialImages }: Asked,
  by: ServedBy,
  caller: HostedCaller,
  deps: ServedDeps,
): Promise<Ran> {
  const item = { id: call.id, type: 'image_generation_call' };
  const failed = (why: string): Ran => ({
    item: { ...item, status: 'failed', result: null },
    events: [],
    output: `No image was made. ${why}`,
  });
  const prompt = argumentIn(call.arguments, 'prompt');
  if (prompt === null) return failed('Give a JSON object with the description as text, {"prompt": "…"}.');
  if (prompt.length > PROMPT_CHARACTERS) return failed(`The prompt has more than ${PROMPT_CHARACTERS} characters.`);
  const body = {
    ...{ prompt, n: 1, ...wishes },
    ...(partialImages > 0 && { stream: true, partial_images: partialImages }),
    // Others give the image itself, and know no other way.
    ...(by.model.startsWith('dall-e') && { response_format: 'b64_json' }),
  };
  const response = await askServing(deps, by, caller, { path: '/images/generations', body });
  caller.signal.throwIfAborted();
  if (!response.ok) return failed(`The model that makes images answered ${await whyNot(response)}`);
  let partials = 0;
  const image = await imageIn(response, (partial) => {
    const { b64_json, size, quality, background, output_format } = partial;
    if (partials >= partialImages || typeof b64_json !== 'string') return;
    const about = present({ size, quality, background, output_format });
    call.tell?.(event('partial_image', { partial_image_b64: b64_json, partial_image_index: partials++, ...about }));
  }).catch((error: unknown) => {
    caller.signal.throwIfAborted();
    if (error instanceof NoImage) return error;
    throw error;
  });
  if (image instanceof NoImage) return failed(image.message);
  const { b64_json: result, revised_prompt, size, quality, background, output_format } = image;
  return {
    item: {
      ...{ ...item, status: 'completed', result },
      ...present({ revised_prompt: textIn(revised_prompt), size, quality, background, output_format }),
    },
    events: [event('completed')],
    output: 'The image was made, and the user sees it.',
  };
}

/** The model answered, and not with an image. */
class NoImage extends Error {
  override readonly name = 'NoImage';
}

/** The image of an answer, whole or streamed, with what is said of it. */
async function imageIn(response: Response, tell: (partial: JsonObject) => void): Promise<JsonObject> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const parser = new SseParser();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let last: JsonObject | null = null;
  const take = (data: string) => {
    const said = objectIn(parsed(data));
    if (said.type === 'error' || isObject(said.error))
      throw new NoImage(textIn(objectIn(said.error).message)?.slice(0, 500) ?? 'The model that makes images failed.');
    if (said.type === 'image_generation.partial_image') tell(said);
    if (said.type === 'image_generation.completed') last = said;
  };
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += piece.byteLength;
    if (bytes > MOST_BYTES * (isStream ? MOST_PARTIAL + 1 : 1))
      throw new NoImage(`It has more than ${MOST_BYTES} bytes, which are the most that are kept.`);
    if (isStream) for (const { data } of parser.push(piece)) take(data);
    else pieces.push(piece);
  }
  if (isStream) for (const { data } of parser.end()) take(data);
  else {
    const answer = objectIn(parsed(Buffer.concat(pieces).toString()));
    const { size, quality, background, output_format } = answer;
    last = { size, quality, background, output_format, ...objectsIn(answer.data)[0] };
  }
  const image = last as JsonObject | null;
  if (typeof image?.b64_json !== 'string' || image.b64_json === '')
    throw new NoImage('The model that makes images answered without one.');
  return image;
}
