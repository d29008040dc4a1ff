import { Fields, fault } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import { objectIn, present, textIn } from '../json.ts';
import { type EndpointCodec, need } from './endpoint.ts';

/** Text completion on Triton's generate extension. It tells neither why it stopped nor how many tokens it took. */
export const tritonComplete: EndpointCodec = {
  encode: (request) => {
    const fields = new Fields(request, '');
    const model = fields.string('model');
    const prompt = fields.take('prompt');
    const stop = fields.take('stop');
    const isStream = fields.boolean('stream');
    return {
      path: `/v2/models/${encodeURIComponent(model)}/generate`,
      body: present({
        ...fields.rest(),
        text_input: typeof prompt === 'string' ? prompt : fault('prompt', 'a text', prompt),
        stop_words: typeof stop === 'string' ? [stop] : stop,
        stream: false,
      }),
      dropped: isStream ? [need('stream', 'its completions come whole')] : [],
    };
  },
  decode: ({ json }, { request, now }) => {
    const { text_output, model_name } = objectIn(json);
    const text = textIn(text_output);
    if (text === undefined) throw new FramingError('the answer holds no text_output');
    return {
      id: `cmpl-${now}`,
      object: 'text_completion',
      created: Math.floor(now / 1000),
      model: model_name ?? request.model,
      choices: [{ index: 0, text, logprobs: null, finish_reason: 'stop' }],
    };
  },
};
