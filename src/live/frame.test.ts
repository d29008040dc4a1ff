import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { continuedBody, LARGEST_FRAME, parseFrame, readTurn } from './frame.ts';

const read = (text: string) => {
  const bytes = Buffer.from(text);
  return readTurn(parseFrame(text, bytes), bytes);
};
const bodyOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe('a frame', () => {
  test('becomes the body of a call, byte for byte but for what only a WebSocket knows', () => {
    const turn = read(
      '{ "type" : "response.create","model":"m", "seed": 12345678901234567890 ,"stream_id":"a","temperature":1.0,"generate":true}',
    );
    expect(bodyOf(turn.body)).toBe('{ "model":"m", "seed": 12345678901234567890 ,"temperature":1.0,"stream":true}');
    expect(turn).toMatchObject({ lane: 'a', generates: true, previousId: null, items: '', model: 'm' });
  });

  test('is the same however the names of its members are spelt, and of two members the last counts', () => {
    const turn = read(
      String.raw`{"\u0074ype":"x","type":"response.create","input":"one","in\u0070ut":[{"n":1}, {"n":2} ],"stream":true,"previous_response_id":"a","previous_response_id":"b"}`,
    );
    expect(turn).toMatchObject({ previousId: 'b', items: '{"n":1}, {"n":2}' });
    const whole = JSON.parse(bodyOf(continuedBody(turn, ['{"n":0}'], 'base')));
    expect(whole).toEqual({ input: [{ n: 0 }, { n: 1 }, { n: 2 }], stream: true, previous_response_id: 'base' });
  });

  test('that says nothing new goes on from what was said', () => {
    const turn = read('{"type":"response.create","input":[],"previous_response_id":"a"}');
    expect(JSON.parse(bodyOf(continuedBody(turn, ['{"n":0}', ''], null)))).toEqual({ input: [{ n: 0 }], stream: true });
    const absent = read('{"type":"response.create"}');
    expect(JSON.parse(bodyOf(continuedBody(absent, ['{"n":0}'], null)))).toEqual({ input: [{ n: 0 }], stream: true });
  });

  test('of any bytes is a turn with a body of JSON, or refused in words', () => {
    const good =
      '{"type":"response.create","stream_id":"a","input":[{"type":"message","content":"é\\n\\"{"}],"x":[1,{}]}';
    let seed = 7;
    const random = (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % most;
    };
    const marks = ['"', '{', '}', '[', ']', ',', ':', '\\', ' ', '1', 'null', 'é', '\u0000'];
    for (let round = 0; round < 1_000; round++) {
      let text = good;
      for (let change = 0; change <= random(4); change++) {
        const at = random(text.length);
        text = text.slice(0, at) + marks[random(marks.length)]! + text.slice(at + random(3));
      }
      try {
        const turn = read(text);
        const body = JSON.parse(bodyOf(continuedBody(turn, ['{"n":0}'], null)));
        expect(body.stream).toBe(true);
        expect(body.input[0]).toEqual({ n: 0 });
        for (const name of ['type', 'stream_id', 'generate']) expect(Object.hasOwn(body, name)).toBe(false);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
      }
    }
  });

  test('that is too large is refused by its bytes', () => {
    expect(() => read(`"${'é'.repeat(LARGEST_FRAME / 2)}"`)).toThrow('larger than');
  });
});
