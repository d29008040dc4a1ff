import { expect, test } from 'bun:test';
import { FormFields } from './endpoint.ts';
import { decodeError } from './errors.ts';
import { encodeForm } from './form.ts';

test('a form is read by others as it was meant, also when a value holds the boundary', async () => {
  const fields = { prompt: 'a cat\r\n--gateway-form\r\nand "more"', 'odd "name"': 'ü' };
  const { type, bytes } = encodeForm(new FormFields(fields));
  const read = await new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { 'content-type': type } }).formData();
  expect([...read.values()]).toEqual(Object.values(fields));
  expect(read.get('prompt')).toBe(fields.prompt);
  expect(encodeForm(new FormFields(fields))).toEqual({ type, bytes });
});

for (const [name, body, message] of [
  [
    'texts',
    { id: 'e1', name: 'bad_request', errors: ['prompt: too long', 'seed: too large'] },
    'prompt: too long seed: too large',
  ],
  ['objects', { success: false, errors: [{ code: 7003, message: 'No route' }], result: null }, 'No route'],
  ['detail', { detail: 'Model not found' }, 'Model not found'],
  ['message', { message: 'invalid api token' }, 'invalid api token'],
  ['error', { error: { message: 'no', code: 'bad' } }, 'no'],
  ['text', 'Bad Gateway', 'Bad Gateway'],
  ['nothing', {}, 'The provider gave no reason.'],
] as const) {
  test(`a refusal in the form of ${name} keeps its reason`, () => {
    expect(decodeError(400, body)).toMatchObject({ status: 400, kind: 'invalid-request', message, raw: body });
  });
}
