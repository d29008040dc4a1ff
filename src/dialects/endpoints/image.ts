import type { Changed, Dropped } from '../dialect.ts';
import { Fields, fault } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { present } from '../json.ts';
import { type Asked, hint, need } from './endpoint.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A call of /images/generations, read. */
export interface ImageRequest {
  readonly model: string;
  readonly prompt: string;
  readonly n?: number;
  readonly size?: Size;
  /** Members that OpenAI does not have, and those of OpenAI's that the provider takes. */
  readonly rest: JsonObject;
  readonly dropped: readonly Dropped[];
}

/** What a provider's images are like. */
export interface ImageAbility {
  /** The form in which pictures come; both where the client may choose. */
  readonly gives: 'b64_json' | 'url' | 'both';
  /** More than one picture per call. */
  readonly several: boolean;
  /** Members of OpenAI's that mean the same there. */
  readonly takes?: readonly string[];
}

/** OpenAI's own settings; a provider that does not know one would refuse the call, or understand it otherwise. */
const OWN = [
  'quality',
  'style',
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'partial_images',
  'input_fidelity',
  'user',
];

export function readImage(request: JsonObject, { gives, several, takes = [] }: ImageAbility): ImageRequest {
  const fields = new Fields(request, '');
  const format = fields.oneOf('response_format', ['url', 'b64_json']);
  const n = fields.integer('n', 1);
  const own = OWN.filter((name) => fields.has(name) && !takes.includes(name));
  for (const name of own) fields.take(name);
  return present<ImageRequest>({
    model: fields.string('model'),
    prompt: fields.string('prompt'),
    n,
    size: sizeIn(fields.optionalString('size')),
    dropped: [
      ...(format && gives !== 'both' && format !== gives
        ? [need('response_format', gives === 'url' ? 'it answers with addresses' : 'it answers with image data')]
        : []),
      ...(n !== undefined && n > 1 && !several ? [need('n', 'it makes one image per call')] : []),
      ...(fields.boolean('stream') ? [need('stream', 'its images come whole')] : []),
      ...own.map((name) => hint(name, 'it has no such setting')),
    ],
    rest: fields.rest() ?? {},
  });
}

function sizeIn(size: string | undefined): Size | undefined {
  if (size === undefined || size === 'auto') return undefined;
  const [, width, height] =
    /^(\d{1,5})x(\d{1,5})$/.exec(size) ?? fault('size', 'width and height, as in 1024x1024', size);
  return { width: Number(width), height: Number(height) };
}

/** How far a size may be from a ratio to pass for it: 1792x1024 is meant as 16:9. */
const TOLERANCE = 0.03;

/** The aspect ratio for providers that take no pixels. */
export function ratioOf(
  size: Size | undefined,
  allowed: readonly string[],
): { ratio?: string; dropped: readonly Dropped[]; changed: readonly Changed[] } {
  if (!size) return { dropped: [], changed: [] };
  const wanted = size.width / size.height;
  const distance = (ratio: string) => {
    const [width, height] = ratio.split(':').map(Number);
    return Math.abs(width! / height! / wanted - 1);
  };
  const [ratio] = allowed.toSorted((one, other) => distance(one) - distance(other));
  if (ratio === undefined || distance(ratio) > TOLERANCE)
    return { dropped: [need('size', `it takes the aspect ratios ${allowed.join(', ')}`)], changed: [] };
  return { ratio, dropped: [], changed: [{ path: 'size', how: `said as the aspect ratio ${ratio}` }] };
}

/** One picture, as data or as an address. */
export type Picture = JsonObject & ({ readonly b64_json: string } | { readonly url: string });

export const imageReply = (pictures: readonly Picture[], { now }: Asked): JsonObject => ({
  created: Math.floor(now / 1000),
  data: pictures,
});

/** Base64 as it stands in an answer, in a list or alone. */
export function picturesIn(data: unknown): readonly Picture[] {
  const list = Array.isArray(data) ? data : [data];
  if (!list.every((each) => typeof each === 'string' && each !== ''))
    throw new FramingError('the answer holds no image');
  return list.map((b64_json: string) => ({ b64_json }));
}
