import { afterAll, describe, expect, test } from 'bun:test';
import { catalogue } from '../../src/core/errors.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { startGateway } from '../gateway.ts';

// Started while the file loads, because each route of its table becomes a test.
const gateway = await startGateway();
afterAll(() => gateway.stop());

const reply = await gateway.api.get('/openapi.json', { key: null });
const description = reply.json;

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: object }[];
}

const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({ path, method, operation })),
);

test('the description is OpenAPI 3.1 and says where the service is', () => {
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toStartWith('application/json');
  expect(description.openapi).toMatch(/^3\.1\.\d+$/);
  expect(description.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
  expect(description.servers).toEqual([{ url: expect.stringMatching(/^https?:\/\//) }]);
});

test('it describes every route and nothing else', () => {
  const described = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`);
  const answered = gateway.routes.map(
    ({ method, path }) => `${method} ${path.replace(/\/:(\w+)/g, '/{$1}').replace('*', '{path}')}`,
  );
  expect(described.sort()).toEqual(answered.sort());
});

test('each operation has an id of its own, made of letters and digits', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-zA-Z][a-zA-Z0-9]*$/);
});

describe('a reader finds', () => {
  for (const route of gateway.routes) {
    const path = route.path.replace(/\/:(\w+)/g, '/{$1}').replace('*', '{path}');
    test(`what ${route.method} ${path} takes, answers and needs`, () => {
      const operation = description.paths[path][route.method.toLowerCase()];
      expect(operation.summary).not.toBe('');
      expect(operation.tags).toHaveLength(1);
      expect(operation.responses['200'].description).toBeString();
      expect(operation.responses.default.content['application/json'].schema).toEqual({
        $ref: '#/components/schemas/Error',
      });
      if (route.scopes === 'public') {
        expect(operation.security).toEqual([]);
        expect(operation['x-scopes']).toBeUndefined();
      } else {
        expect(operation.security).toEqual([{ gatewayKey: [] }, { bearer: [] }]);
        expect(operation['x-scopes']).toEqual([...route.scopes]);
        expect(operation['x-scopes'].length).toBeGreaterThan(0);
        for (const scope of operation['x-scopes']) expect(SCOPES).toContain(scope);
      }
      const inPath = operation.parameters.filter((parameter: { in: string }) => parameter.in === 'path');
      expect(inPath.map(({ name }: { name: string }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      for (const parameter of operation.parameters) expect(parameter.schema).toBeObject();
      if (route.body) {
        const { type, anyOf, oneOf } = operation.requestBody.content['application/json'].schema;
        expect(type ?? (anyOf ?? oneOf)[0].type).toBe('object');
      }
    });
  }
});

test('references lead somewhere and security schemes are declared', () => {
  for (const [, pointer] of reply.text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    let found: unknown = description;
    for (const part of pointer!.split('/')) found = (found as Record<string, unknown>)?.[part];
    expect(found).toBeDefined();
  }
  expect(Object.keys(description.components.securitySchemes)).toEqual(['gatewayKey', 'bearer']);
});

test('the codes of errors are listed', () => {
  const { enum: codes } = description.components.schemas.Error.properties.error.properties.code;
  expect(codes).toEqual([...Object.keys(catalogue), null]);
});

test('an answer has the members that the description requires', async () => {
  const { json } = await gateway.api.get('/v1/virtual-keys/sim');
  const { schema } = description.paths['/v1/virtual-keys/{slug}'].get.responses['200'].content['application/json'];
  expect(schema).toEqual({ $ref: '#/components/schemas/VirtualKey' });
  const { properties } = description.components.schemas.VirtualKey;
  expect(Object.keys(json).sort()).toEqual(Object.keys(properties).sort());
});

test('the bounds of a page are in the description', () => {
  const { parameters } = description.paths['/v1/api-keys'].get;
  const size = parameters.find(({ name }: { name: string }) => name === 'page_size');
  expect(size).toMatchObject({ in: 'query', required: false, schema: { minimum: 1, maximum: 1000, default: 100 } });
  const messages = description.paths['/v1/threads/{thread_id}/messages'].get.parameters;
  const limit = messages.find(({ name }: { name: string }) => name === 'limit');
  expect(limit).toMatchObject({ in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } });
});

test('/docs is a page that shows it and loads nothing from elsewhere', async () => {
  const { status, headers, text } = await gateway.api.get('/docs', { key: null });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(text.toLowerCase()).toStartWith('<!doctype html>');
  expect(text).toContain('/openapi.json');
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
});
