import { describe, expect, test } from 'bun:test';
import { challengeIn, coversServer, issuerMetadataUrls, resourceMetadataUrls } from './well-known.ts';

test('the document about a server is looked for under its path, then at its host', () => {
  const root = 'https://a.example/.well-known/oauth-protected-resource';
  expect(resourceMetadataUrls('https://a.example/team/mcp')).toEqual([`${root}/team/mcp`, root]);
  expect(resourceMetadataUrls('https://a.example/mcp/?x=1')).toEqual([`${root}/mcp`, root]);
  expect(resourceMetadataUrls('https://a.example')).toEqual([root]);
});

test('the document about an issuer with a path has three possible places', () => {
  expect(issuerMetadataUrls('https://a.example/tenant')).toEqual([
    'https://a.example/.well-known/oauth-authorization-server/tenant',
    'https://a.example/.well-known/openid-configuration/tenant',
    'https://a.example/tenant/.well-known/openid-configuration',
  ]);
  expect(issuerMetadataUrls('https://a.example')).toHaveLength(2);
});

describe('a challenge', () => {
  const nothing = { resourceMetadata: null, scope: null, error: null };
  const cases: [string, string | null, object][] = [
    ['is absent', null, nothing],
    ['is of another scheme', 'Basic realm="bearer"', nothing],
    ['says nothing', 'Bearer', nothing],
    [
      'says everything',
      'Bearer error="insufficient_scope", scope="a b", resource_metadata="https://a.example/x"',
      { resourceMetadata: 'https://a.example/x', scope: 'a b', error: 'insufficient_scope' },
    ],
    ['comes after another', 'Basic realm="x", bearer scope=files', { ...nothing, scope: 'files' }],
    ['has escapes', 'Bearer scope="a\\"b"', { ...nothing, scope: 'a"b' }],
    ['says one thing twice', 'Bearer scope="a", scope="b"', { ...nothing, scope: 'a' }],
  ];
  for (const [what, header, expected] of cases)
    test(what, () => expect(challengeIn(header)).toEqual(expected as ReturnType<typeof challengeIn>));
});

describe('a document speaks of a server', () => {
  const server = 'https://a.example/team/mcp';
  const cases: [string, boolean][] = [
    ['https://a.example/team/mcp', true],
    ['https://a.example/team/mcp/', true],
    ['https://a.example/team', true],
    ['https://a.example', true],
    ['https://a.example/tea', false],
    ['https://a.example/team/mcp/more', false],
    ['http://a.example/team/mcp', false],
    ['https://a.example:444/team/mcp', false],
    ['https://a.example.evil.example/team/mcp', false],
    ['https://a.example/team/mcp#x', false],
    ['', false],
    ['no address', false],
  ];
  for (const [resource, expected] of cases)
    test(`${resource || 'nothing'}: ${expected}`, () => expect(coversServer(resource, server)).toBe(expected));
});
