import { expect, test } from 'bun:test';
import {
  destinationOf,
  isClaimed,
  isRegistered,
  policySourceOf,
  redirectFault,
  withParameters,
} from './redirect-uris.ts';

for (const uri of [
  'https://app.example/callback',
  'https://app.example/callback?tenant=a',
  'http://127.0.0.1/callback',
  'http://localhost:3000/callback',
  'http://[::1]:3000/',
  'cursor://anysphere.example/oauth/callback',
  'com.example.app:/oauth',
])
  test(`users may be sent to ${uri}`, () => expect(redirectFault(uri)).toBeNull());

for (const uri of [
  'http://app.example/callback',
  'http://127.0.0.1.evil.example/',
  'http://localhost.evil.example/',
  'https://user@app.example/callback',
  'https://app.example/callback#part',
  'https://app.example/callback#',
  'https://app.example/callback?code=mine',
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  '/callback',
  'https://app.example/call back',
  'https://app.example;frame-ancestors/callback',
  'https://app.example,default-src/callback',
  'https://*/callback',
  "https://'self'/callback",
  `https://app.example/${'a'.repeat(2_000)}`,
])
  test(`nobody is sent to ${uri.slice(0, 60)}`, () => expect(redirectFault(uri)).toBeString());

test('an address must be one of the registered, letter by letter', () => {
  const registered = ['https://app.example/callback', 'http://127.0.0.1/callback', 'http://[::1]:1/x?y=1'];
  for (const uri of [...registered, 'http://127.0.0.1:5000/callback', 'http://[::1]:99/x?y=1'])
    expect(isRegistered(uri, registered)).toBe(true);
  for (const uri of [
    'https://app.example/callback/',
    'https://app.example:443/callback',
    'https://app.example/Callback',
    'http://localhost:5000/callback',
    'http://127.0.0.1:5000/callback/',
    'http://127.0.0.1:5000/callback?x',
    'http://127.0.0.1:5000@evil.example/callback',
    'http://[::1]:99/x?y=2',
  ])
    expect(isRegistered(uri, registered)).toBe(false);
});

test('only an https address belongs to one party alone', () => {
  expect(isClaimed('https://app.example/')).toBe(true);
  expect(isClaimed('http://127.0.0.1/')).toBe(false);
  expect(isClaimed('cursor://x/')).toBe(false);
});

test('people and policies are told where it leads', () => {
  expect(destinationOf('https://app.example/callback')).toBe('https://app.example');
  expect(destinationOf('cursor://x/callback')).toBe('cursor:');
  expect(policySourceOf('http://[::1]:99/x')).toBe('http:');
  expect(policySourceOf('http://127.0.0.1:99/x')).toBe('http://127.0.0.1:99');
});

test('an answer keeps the query of the address', () => {
  expect(withParameters('https://a.example/x?y=1', { code: 'c d', state: null })).toBe(
    'https://a.example/x?y=1&code=c+d',
  );
  expect(withParameters('com.example.app:/x', { code: 'c', iss: 'https://b' })).toBe(
    'com.example.app:/x?code=c&iss=https%3A%2F%2Fb',
  );
});
