import { expect, test } from 'bun:test';
import * as z from 'zod';
import { post } from './route.ts';

test('the schemas of a route are made when they are first needed, and once', () => {
  let made = 0;
  const body = () => {
    made++;
    return z.strictObject({ name: z.string() });
  };
  const route = post('/things', { scopes: 'public', summary: 'Make a thing', body }, (call) => call.body.name);
  expect(made).toBe(0);

  expect(route.body?.()).toBe(route.body!());
  expect(made).toBe(1);
});

test('a route without schemas has none', () => {
  const route = post('/things', { scopes: 'public', summary: 'Make a thing' }, () => null);
  expect([route.query, route.body, route.form, route.response]).toEqual([undefined, undefined, undefined, undefined]);
});
