import { expect, test } from 'bun:test';
import { converse } from './converse/converse.ts';
import { gemini } from './gemini/gemini.ts';
import type { MediaPart, ModelRequest } from './ir.ts';
import { endingOf, mimeOfAddress } from './media-types.ts';
import { openaiChat } from './openai-chat/openai-chat.ts';
import { needsFetch, withFetched } from './remote-media.ts';

const picture = (url: string): MediaPart => ({ type: 'media', kind: 'image', source: { type: 'url', url } });

test('a file that a provider will not fetch is named for the gateway, refused as it is, and sent once it was fetched', () => {
  const chat = openaiChat.inbound.decodeRequest({
    model: 'us.anthropic.claude-opus-4-8',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/cat' } }] }],
  });
  const first = converse.outbound.encodeRequest(chat);
  expect(needsFetch(first)).toEqual([
    { path: 'messages[0].content[0]', url: 'https://example.com/cat', kind: 'image' },
  ]);
  expect(first.dropped).toMatchObject([{ path: 'messages[0].content[0]', matters: true }]);

  const files = new Map([['https://example.com/cat', { mime: 'image/png', data: 'AAEC' }]]);
  const second = converse.outbound.encodeRequest(withFetched(chat, files));
  expect(second.body.messages).toEqual([
    { role: 'user', content: [{ image: { format: 'png', source: { bytes: 'AAEC' } } }] },
  ]);
  expect(needsFetch(second)).toEqual([]);
  expect(second.dropped).toEqual([]);
});

test('files in results of tools are fetched too, and the client’s word about their type counts', () => {
  const request: ModelRequest = {
    model: 'gemini-2.5-flash',
    turns: [
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'a', name: 'f', argsText: '{}' }] },
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', id: 'a', parts: [{ ...picture('https://example.com/a.png'), mime: 'image/webp' }] },
        ],
      },
    ],
  };
  expect(needsFetch(gemini.outbound.encodeRequest(request)).map(({ url }) => url)).toEqual([
    'https://example.com/a.png',
  ]);
  const files = new Map([['https://example.com/a.png', { mime: 'image/png', data: 'AAEC' }]]);
  const { body } = gemini.outbound.encodeRequest(withFetched(request, files));
  expect(body.contents[1]?.parts[0]?.functionResponse?.parts).toEqual([
    { inlineData: { mimeType: 'image/webp', data: 'AAEC' } },
  ]);
});

test('the type of a file is told by its address, whatever stands behind it', () => {
  expect(
    ['https://a.example/b.JPG?c=d.png#e', 's3://b/c.pdf', 'https://a.example/b', 'https://a.png/b', 'x.unknown'].map(
      mimeOfAddress,
    ),
  ).toEqual(['image/jpeg', 'application/pdf', undefined, undefined, undefined]);
  expect(['image/jpg', 'Image/PNG; charset=x', 'audio/mpeg', 'x/y'].map(endingOf)).toEqual([
    'jpeg',
    'png',
    'mp3',
    undefined,
  ]);
});
