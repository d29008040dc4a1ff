import { FramingError } from '../framing-error.ts';
import { objectIn, objectsIn, present, someTextIn } from '../json.ts';
import type { EndpointCodec, ProviderAnswer } from './endpoint.ts';
import { imageReply, type Picture, picturesIn, ratioOf, readImage } from './image.ts';

/** A picture as it is. */
function pictureOf({ bytes, headers }: ProviderAnswer): readonly Picture[] {
  if (!headers['content-type']?.startsWith('image/')) throw new FramingError('the answer is no image');
  return [{ b64_json: Buffer.from(bytes).toString('base64') }];
}

export const segmindImages: EndpointCodec = {
  encode: (request) => {
    const { model, prompt, size, rest, dropped } = readImage(request, {
      gives: 'b64_json',
      several: false,
      takes: ['style'],
    });
    return {
      path: `/${encodeURIComponent(model)}`,
      body: present({ img_width: size?.width, img_height: size?.height, ...rest, prompt, base64: true }),
      headers: { accept: 'application/json' },
      dropped,
    };
  },
  decode: ({ json }, asked) => imageReply(picturesIn(objectIn(json).image), asked),
};

/** A model is a route of its own; some answer JSON with the picture in it, some the picture. */
export const workersImages: EndpointCodec = {
  encode: (request) => {
    const { model, prompt, size, rest, dropped } = readImage(request, { gives: 'b64_json', several: false });
    return {
      path: `/run/${model.split('/').map(encodeURIComponent).join('/').replaceAll('%40', '@')}`,
      body: present({ width: size?.width, height: size?.height, ...rest, prompt }),
      dropped,
    };
  },
  decode: (answer, asked) => {
    const { result } = objectIn(answer.json);
    return imageReply(answer.json === undefined ? pictureOf(answer) : picturesIn(objectIn(result).image), asked);
  },
};

const FLUX_RATIOS = ['1:1', '21:9', '16:9', '3:2', '5:4', '4:5', '2:3', '9:16', '9:21', '4:3', '3:4'];

export const fireworksImages: EndpointCodec = {
  encode: (request) => {
    const { model, prompt, size, rest, dropped } = readImage(request, { gives: 'b64_json', several: false });
    const { ratio, ...said } = ratioOf(size, FLUX_RATIOS);
    const name = model.includes('/') ? model : `accounts/fireworks/models/${model}`;
    return {
      path: `/workflows/${name.split('/').map(encodeURIComponent).join('/')}/text_to_image`,
      body: present({ aspect_ratio: ratio, ...rest, prompt }),
      headers: { accept: 'image/jpeg' },
      dropped: [...dropped, ...said.dropped],
      changed: said.changed,
    };
  },
  decode: (answer, asked) => imageReply(pictureOf(answer), asked),
};

export const hyperbolicImages: EndpointCodec = {
  encode: (request) => {
    const { model, prompt, size, rest, dropped } = readImage(request, { gives: 'b64_json', several: false });
    return {
      path: '/image/generation',
      body: present({ width: size?.width, height: size?.height, ...rest, prompt, model_name: model }),
      dropped,
    };
  },
  decode: ({ json }, asked) =>
    imageReply(picturesIn(objectsIn(objectIn(json).images).map(({ image }) => image)), asked),
};

export const siliconflowImages: EndpointCodec = {
  encode: (request) => {
    const { model, prompt, n, size, rest, dropped } = readImage(request, { gives: 'url', several: true });
    const image_size = size && `${size.width}x${size.height}`;
    return {
      path: '/images/generations',
      body: present({ image_size, batch_size: n, ...rest, model, prompt }),
      dropped,
    };
  },
  decode: ({ json }, asked) => imageReply(urlsIn(objectIn(json).images), asked),
};

function urlsIn(images: unknown): readonly Picture[] {
  const urls = objectsIn(images).flatMap(({ url }) => someTextIn(url) ?? []);
  if (urls.length === 0) throw new FramingError('the answer holds no image');
  return urls.map((url) => ({ url }));
}

export const togetherImages: EndpointCodec = {
  encode: (request) => {
    const { model, prompt, n, size, rest, dropped } = readImage(request, {
      gives: 'both',
      several: true,
      takes: ['output_format'],
    });
    const response_format = request.response_format === 'b64_json' ? 'base64' : request.response_format;
    return {
      path: '/images/generations',
      body: present({ width: size?.width, height: size?.height, response_format, ...rest, n, model, prompt }),
      dropped,
    };
  },
  decode: ({ json }, asked) => {
    const pictures = objectsIn(objectIn(json).data);
    if (pictures.length === 0) throw new FramingError('the answer holds no image');
    return imageReply(pictures as readonly Picture[], asked);
  },
};
