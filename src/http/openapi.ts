import * as z from 'zod';
import { catalogue } from '../core/errors.ts';
import type { Route } from './route.ts';

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['message', 'type', 'param', 'code'],
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        param: { type: ['string', 'null'] },
        code: { type: ['string', 'null'], enum: [...Object.keys(catalogue), null] },
      },
    },
  },
};

type Json = Record<string, unknown>;

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Json =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12', override: withDefault });

/** zod leaves out the default of what is converted on its way in, such as numbers in a query. */
function withDefault({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }) {
  const { def } = zodSchema._zod;
  if (def.type === 'default' && jsonSchema.type === 'integer') jsonSchema.default ??= def.defaultValue;
}

/** Describes every route, from the same schemas that check its input. */
export function describeRoutes(
  routes: readonly Route[],
  { version, publicUrl }: { version: string; publicUrl: string },
) {
  const paths: Record<string, Json> = {};
  const schemas: Json = { Error: ERROR_SCHEMA };
  for (const route of routes) {
    const path = described(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gateway',
      version,
      description:
        'One API in front of every model provider. Paths that are not listed are passed through to the chosen provider.',
    },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      securitySchemes: {
        gatewayKey: { type: 'apiKey', in: 'header', name: 'x-gateway-api-key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      schemas,
    },
  };
}

/** A colon within a segment is one: `{model}:countTokens`. */
const described = (path: string): string => path.replace(/\/:(\w+)/g, '/{$1}').replace(/\*$/, '{path}');

function operation(route: Route, schemas: Json) {
  const isPublic = route.scopes === 'public';
  const names = [...described(route.path).matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  return {
    summary: route.summary,
    operationId: `${route.method.toLowerCase()}${route.path.replace('*', 'path').replace(/[^a-zA-Z0-9]+(\w)?/g, (_all, letter: string | undefined) => letter?.toUpperCase() ?? '')}`,
    tags: [tagOf(route.path)],
    security: isPublic ? [] : [{ gatewayKey: [] }, { bearer: [] }],
    ...(!isPublic && { 'x-scopes': route.scopes }),
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...(route.query ? queryParameters(route.query()) : []),
    ],
    ...(route.body && { requestBody: requestBody('application/json', route.body(), schemas) }),
    ...(route.form && { requestBody: requestBody('multipart/form-data', route.form(), schemas) }),
    responses: {
      200: {
        description: 'Success',
        ...(route.response && {
          content: { 'application/json': { schema: placed(jsonSchema(route.response(), 'output'), schemas) } },
        }),
      },
      default: {
        description: 'Failure',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

const requestBody = (type: string, schema: z.ZodType, schemas: Json) => ({
  required: true,
  content: { [type]: { schema: placed(jsonSchema(schema, 'input'), schemas) } },
});

/** A schema as a part of the whole document: named parts of it move to where the document keeps them. */
function placed(schema: Json, schemas: Json): Json {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/');
  const { $schema: _, $defs, ...rest } = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
  for (const [name, { id: __, ...part }] of Object.entries($defs ?? {})) schemas[name] = part;
  return rest;
}

function queryParameters(query: z.ZodType) {
  const schema = jsonSchema(query, 'input') as {
    properties?: Record<string, Record<string, unknown>>;
    required?: string[];
  };
  return Object.entries(schema.properties ?? {}).map(([name, { description, ...rest }]) => ({
    name,
    in: 'query',
    required: schema.required?.includes(name) ?? false,
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

const tagOf = (path: string): string => {
  const [first, second] = path.replace(/^\/v1\//, '').split('/');
  return (first === 'admin' ? second : first)?.replace(/^[:*].*$/, 'pass-through') || 'service';
};
