import type { JsonObject } from '../ir.ts';
import { objectIn, objectsIn, present, someTextIn } from '../json.ts';
import { type EncodedCall, type EndpointCodec, FormFields } from './endpoint.ts';
import { imageReply, type Picture, picturesIn, ratioOf, readImage } from './image.ts';

export const STABILITY_RATIOS = ['1:1', '16:9', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];

/** Engines of the first version have long names; those of the second are `core`, `ultra` and `sd3…`. */
const isFirstVersion = (model: unknown): boolean => String(model).startsWith('stable-diffusion-');

const headers = { accept: 'application/json' };

export const stabilityImages: EndpointCodec = {
  encode: (request) => (isFirstVersion(request.model) ? encodeEngine(request) : encodeForm(request)),
  decode: ({ json }, asked) => {
    const { artifacts, image, finish_reason } = objectIn(json);
    const pictures = Array.isArray(artifacts)
      ? objectsIn(artifacts).flatMap(({ base64, finishReason }) => withReason(base64, finishReason))
      : withReason(image, finish_reason);
    return imageReply(pictures, asked);
  },
};

/** A picture that was filtered is blurred; only the reason tells. */
function withReason(base64: unknown, reason: unknown): readonly Picture[] {
  const finish_reason = someTextIn(reason);
  return picturesIn(base64).map((picture) => (finish_reason ? { ...picture, finish_reason } : picture));
}

function encodeEngine(request: JsonObject): EncodedCall {
  const { model, prompt, n, size, rest, dropped } = readImage(request, { gives: 'b64_json', several: true });
  const { negative_prompt, ...more } = rest;
  const against = typeof negative_prompt === 'string' ? [{ text: negative_prompt, weight: -1 }] : [];
  return {
    path: `/v1/generation/${encodeURIComponent(model)}/text-to-image`,
    body: present({
      samples: n,
      width: size?.width,
      height: size?.height,
      ...more,
      text_prompts: [{ text: prompt, weight: 1 }, ...against],
    }),
    headers,
    dropped,
  };
}

function encodeForm(request: JsonObject): EncodedCall {
  const { model, prompt, size, rest, dropped } = readImage(request, {
    gives: 'b64_json',
    several: false,
    takes: ['output_format'],
  });
  const { ratio, ...said } = ratioOf(size, STABILITY_RATIOS);
  const isFamily = model.startsWith('sd3');
  const fields = present({ aspect_ratio: ratio, ...rest, prompt, model: isFamily ? model : undefined });
  return {
    path: `/v2beta/stable-image/generate/${isFamily ? 'sd3' : encodeURIComponent(model)}`,
    body: new FormFields(
      Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      ),
    ),
    headers,
    dropped: [...dropped, ...said.dropped],
    changed: said.changed,
  };
}
