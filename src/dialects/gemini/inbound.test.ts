import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bare, faultOf } from '../../../test/dialects/comparing.ts';
import { anthropic } from '../anthropic/anthropic.ts';
import type { JsonObject, ModelReply } from '../ir.ts';
import { openaiChat } from '../openai-chat/openai-chat.ts';
import { gemini } from './gemini.ts';

const folder = join(import.meta.dir, '../fixtures/gemini');
const context = { request: { model: 'asked-for' }, id: 'made-here', now: 0 };
const read = (body: JsonObject) => gemini.inbound.decodeRequest({ model: 'm', ...body });
const user = (text: string) => ({ role: 'user', parts: [{ text }] });

for (const file of readdirSync(folder)) {
  const { request, reply, error, means } = JSON.parse(readFileSync(join(folder, file), 'utf8'));

  if (request)
    test(`gemini/${file}: a client's request is read so that it can be written as it was`, () => {
      const { body, dropped } = gemini.outbound.encodeRequest(read({ ...request, model: means.request.model }));
      expect({ body, dropped }).toEqual({ body: request, dropped: [] });
    });

  if (reply)
    test(`gemini/${file}: a reply is written so that it means the same`, () => {
      const again = gemini.outbound.decodeReply(gemini.inbound.encodeReply(means.reply, context).body);
      expect(again).toEqual(means.reply as ModelReply);
    });

  if (error)
    test(`gemini/${file}: an error is told with its status and its words`, () => {
      const failure = gemini.outbound.decodeError(error.status, error.body);
      const { status, body } = gemini.inbound.encodeError(failure);
      const { raw, ...rest } = gemini.outbound.decodeError(status, body);
      expect(rest).toMatchObject(means.failure);
    });
}

describe('a request of a client of Google’s', () => {
  test('is read in both spellings, and with one object for a list of one', () => {
    const spelt = read({
      system_instruction: { parts: { text: 'Be brief' } },
      contents: { parts: { inline_data: { mime_type: 'image/png', data: 'A-_B' } } },
      tool_config: { function_calling_config: { mode: 'any', allowed_function_names: ['now'] } },
      tools: [{ function_declarations: [{ name: 'now', parameters_json_schema: { type: 'object' } }] }],
      generation_config: { max_output_tokens: 5, response_mime_type: 'application/json' },
    });
    expect(bare(spelt)).toEqual({
      model: 'm',
      turns: [
        { role: 'system', parts: [{ type: 'text', text: 'Be brief' }] },
        {
          role: 'user',
          parts: [{ type: 'media', kind: 'image', source: { type: 'data', data: 'A+/B' }, mime: 'image/png' }],
        },
      ],
      tools: [{ type: 'function', name: 'now', parameters: { type: 'object' } }],
      toolChoice: { type: 'tool', name: 'now' },
      maxOutputTokens: 5,
      responseFormat: { type: 'json' },
    });
    expect(faultOf(() => read({ contents: [], generationConfig: {}, generation_config: {} }))).toContain(
      'generation_config | ',
    );
  });

  test('finds the calls that results answer by the names of their functions', () => {
    const call = (name: string) => ({ functionCall: { name, args: {} } });
    const result = (name: string, response: object) => ({ functionResponse: { name, response } });
    const { turns } = read({
      contents: [
        user('go'),
        { role: 'model', parts: [call('a'), call('b'), call('a')] },
        {
          role: 'user',
          parts: [result('b', { result: 1 }), result('a', { output: 'x' }), result('a', { error: 'y' })],
        },
      ],
    });
    const ids = turns.flatMap(({ parts }) => parts.flatMap((part) => ('id' in part ? [part.id] : [])));
    expect(ids).toEqual(['call_0', 'call_1', 'call_2', 'call_1', 'call_0', 'call_2']);
    const unknown = { contents: [{ role: 'user', parts: [result('c', {})] }] };
    expect(faultOf(() => read(unknown))).toContain('contents[0].parts[0].functionResponse.name | ');
  });

  test('has the chunks of a stream that it kept as one answer of the model', () => {
    const chunk = (text: string) => ({ role: 'model', parts: [{ text }] });
    const { turns } = read({ contents: [user('hi'), chunk('Hel'), chunk('lo'), chunk(''), user('and?')] });
    expect(turns.map(({ role, parts }) => [role, parts.map((part) => ('text' in part ? part.text : ''))])).toEqual([
      ['user', ['hi']],
      ['assistant', ['Hello']],
      ['user', ['and?']],
    ]);
  });

  test('brings thoughts of another provider home, whichever alphabet its client writes', () => {
    const thoughts = [
      { type: 'reasoning', text: 'Hm', signature: 'c2ln/+', signedBy: 'anthropic' },
      { type: 'reasoning', redacted: 'secret', signedBy: 'anthropic' },
    ] as const;
    const reply: ModelReply = { choices: [{ parts: thoughts, finish: { reason: 'stop' } }] };
    const { body } = gemini.inbound.encodeReply(reply, context);
    const [{ content }] = (body as { candidates: [{ content: { parts: { thoughtSignature: string }[] } }] }).candidates;
    const parts = content.parts.map((part) => ({
      ...part,
      thoughtSignature: Buffer.from(part.thoughtSignature, 'base64').toString('base64url'),
    }));
    const { turns } = read({ contents: [user('hi'), { role: 'model', parts }, user('so?')] });
    expect(bare({ model: '', turns }).turns[1]!.parts).toEqual([...thoughts]);
    const { body: sent } = anthropic.outbound.encodeRequest({ model: 'claude-opus-4-8', turns, maxOutputTokens: 9 });
    expect(JSON.stringify(sent)).toContain('"signature":"c2ln/+"');
  });

  test('is refused where what it asks for is Google’s alone, by its name', () => {
    const refusedFor = (body: JsonObject) =>
      openaiChat.outbound
        .encodeRequest(read({ contents: [user('hi')], ...body }))
        .dropped.filter(({ matters }) => matters)
        .map(({ path }) => path);
    expect(refusedFor({ cachedContent: 'cachedContents/x' })).toEqual(['cachedContent']);
    expect(refusedFor({ tools: [{ googleSearch: {} }] })).toEqual(['tools[0]']);
    expect(refusedFor({ generationConfig: { responseModalities: ['AUDIO'] } })).toEqual([
      'generationConfig.responseModalities',
    ]);
    expect(refusedFor({ generationConfig: { responseModalities: ['TEXT'] }, safetySettings: [] })).toEqual([]);
    const code = { role: 'model', parts: [{ executableCode: { language: 'PYTHON', code: '1' } }] };
    expect(refusedFor({ contents: [user('hi'), code] })).toEqual(['contents[1].parts[0]']);
    expect(refusedFor({ generationConfig: { topK: 3 } })).toEqual([]);
  });

  test.each([
    [{}, 'contents | '],
    [{ contents: 'hi' }, 'contents | '],
    [{ contents: [{ role: 'system', parts: [] }] }, 'contents[0].role | '],
    [{ contents: [{ parts: [{ text: 1 }] }] }, 'contents[0].parts[0].text | '],
    [{ contents: [{ parts: [{ functionCall: { name: 'x' } }] }] }, 'contents[0].parts[0] | '],
    [{ contents: [{ parts: [{ inlineData: { mimeType: 'image/png' } }] }] }, 'contents[0].parts[0].inlineData.data | '],
    [{ contents: [], generationConfig: { maxOutputTokens: 'x' } }, 'generationConfig.maxOutputTokens | '],
    [{ contents: [], generationConfig: { thinkingConfig: { thinkingLevel: 'deep' } } }, 'thinkingLevel | '],
    [{ contents: [], toolConfig: { functionCallingConfig: { mode: 'some' } } }, 'functionCallingConfig.mode | '],
    [{ contents: [], tools: [{ functionDeclarations: [{}] }] }, 'tools[0].functionDeclarations[0].name | '],
  ] as [JsonObject, string][])('at fault is told where: %j', (body, where) =>
    expect(faultOf(() => read(body))).toContain(where),
  );
});
