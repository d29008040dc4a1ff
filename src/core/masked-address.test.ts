import { expect, test } from 'bun:test';
import { changedAddress, maskedAddress } from './masked-address.ts';

for (const [given, shown] of [
  ['https://mcp.example.com', 'https://mcp.example.com'],
  ['https://mcp.example.com:8443/v1/mcp/', 'https://mcp.example.com:8443/v1/mcp/'],
  ['https://idp.example.com/oauth2/v2.0/token', 'https://idp.example.com/oauth2/v2.0/token'],
  ['https://idp.example.com/.well-known/jwks.json', 'https://idp.example.com/.well-known/jwks.json'],
  ['https://example.com/told?page=2&kind=batch', 'https://example.com/told?page=2&kind=batch'],
  ['https://hooks.example.com/services/T01/B02/x7YzAbCd', 'https://hooks.example.com/services/***/***/***'],
  ['https://example.com/9f8e7d6c-0000-4000-8000-000000000000', 'https://example.com/***'],
  ['https://example.com/token/plainword', 'https://example.com/token/***'],
  ['https://example.com/three-words-here', 'https://example.com/***'],
  ['https://example.com/%73ecret', 'https://example.com/***'],
  ['https://example.com/x?api_key=word&sig=aB3', 'https://example.com/x?api_key=***&sig=***'],
  ['https://example.com/x?9f8e7d6c', 'https://example.com/x?***'],
  ['https://example.com?t=a=b', 'https://example.com?t=***'],
  ['https://ann:pass@word@example.com/x#part', 'https://***@example.com/x#***'],
  ['https://example.com/;jsessionid=aB3/x', 'https://example.com/***/***'],
  ['HTTPS://example.com/aB3', 'HTTPS://example.com/***'],
  ['no address', 'no address'],
] as const) {
  test(`${given} is shown as ${shown}`, () => {
    expect(maskedAddress(given)).toBe(shown);
    // What is shown is shown alike again, so that it is recognised when it comes back.
    expect(maskedAddress(shown)).toBe(shown);
  });
}

test('an address that comes back as it was shown is the stored one, and no other masked one is stored', () => {
  const stored = 'https://example.com/aB3?page=2';
  expect(changedAddress(undefined, stored, 'url')).toBe(stored);
  expect(changedAddress('https://example.com/***?page=2', stored, 'url')).toBe(stored);
  expect(changedAddress('https://example.com/another', stored, 'url')).toBe('https://example.com/another');
  expect(() => changedAddress('https://example.com/***?page=3', stored, 'url')).toThrow('is masked');
});
