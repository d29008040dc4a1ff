import { expect, test } from 'bun:test';
import { resourceIn } from './resources.ts';

const PUBLIC = 'https://gateway.example';

test('an endpoint is known however host and last slash are spelt', () => {
  const weather = { uri: `${PUBLIC}/weather/mcp`, slug: 'weather' };
  for (const text of [weather.uri, `${weather.uri}/`, 'HTTPS://Gateway.Example:443/weather/mcp'])
    expect(resourceIn(PUBLIC, text)).toEqual(weather);
  expect(resourceIn(PUBLIC, `${PUBLIC}/mcp`)).toEqual({ uri: `${PUBLIC}/mcp`, slug: null });
});

test('a gateway below a path has its endpoints there', () => {
  const below = `${PUBLIC}/tools`;
  expect(resourceIn(below, `${below}/weather/mcp`)).toEqual({ uri: `${below}/weather/mcp`, slug: 'weather' });
  expect(resourceIn(below, `${PUBLIC}/weather/mcp`)).toBeNull();
});

for (const text of [
  'weather',
  `${PUBLIC}`,
  `${PUBLIC}/`,
  `${PUBLIC}/weather`,
  `${PUBLIC}/weather/mcp/more`,
  `${PUBLIC}/weather/mcp?x=1`,
  `${PUBLIC}/weather/mcp#`,
  `${PUBLIC}/Weather/mcp`,
  `${PUBLIC}/a%2fb/mcp`,
  `${PUBLIC}//mcp`,
  `${PUBLIC}:8443/weather/mcp`,
  'http://gateway.example/weather/mcp',
  'https://evil.example/weather/mcp',
  'https://gateway.example@evil.example/weather/mcp',
])
  test(`${text} is none of ours`, () => expect(resourceIn(PUBLIC, text)).toBeNull());
