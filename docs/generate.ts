import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EndpointType } from '../src/core/endpoints.ts';
import { GatewayError } from '../src/core/errors.ts';
import { Secret } from '../src/core/secret.ts';
import { describeRoutes } from '../src/http/openapi.ts';
import type { Route } from '../src/http/route.ts';
import type { Provider, TokenSource } from '../src/providers/provider.ts';
import { providers } from '../src/providers/registry.ts';
import { passesAsIs } from '../src/providers/serving.ts';
import { readSettings } from '../src/settings.ts';
import { type Gateway, start } from '../src/start.ts';
import { apiTypes, type Description } from './api-types.ts';
import { chartFiles } from './chart.ts';
import { clientRows } from './client-rows.ts';
import { checkRows } from './guardrail-checks.ts';
import { versionRows } from './version-steps.ts';

/** `npm run docs` writes the tables that follow from the source into the pages, between their markers. */
const root = join(import.meta.dir, '..');

/** A table that is kept in a page: between `<!-- name -->` and `<!-- /name -->`. */
export interface GeneratedTable {
  readonly page: string;
  readonly name: string;
  readonly render: () => string | Promise<string>;
}

export const generatedTables: readonly GeneratedTable[] = [
  { page: 'docs/routes.md', name: 'routes', render: routesTable },
  { page: 'docs/providers.md', name: 'providers', render: providersTable },
  { page: 'docs/providers.md', name: 'endpoints', render: endpointsTable },
  { page: 'docs/configuration.md', name: 'provider keys', render: providerKeysTable },
  { page: 'docs/guardrails.md', name: 'checks', render: checksTable },
  { page: 'docs/clients.md', name: 'clients', render: clientsTable },
  { page: 'docs/metrics.md', name: 'metrics', render: metricsTable },
  { page: 'docs/keys.md', name: 'ends with a workspace', render: () => endingsTable('withWorkspace') },
  { page: 'docs/upgrading.md', name: 'migrations', render: versionsTable },
  { page: 'docs/users.md', name: 'ends with a user', render: () => endingsTable('withUser') },
];

/** Files that follow from the source as a whole. */
export const generatedFiles: readonly { readonly path: string; readonly render: () => Promise<string> }[] = [
  { path: 'web/api/types.d.ts', render: async () => apiTypes(await description()) },
  ...chartFiles,
];

/** The page's text with the table written anew. */
export async function withTable(text: string, { page, name, render }: GeneratedTable): Promise<string> {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${page} lacks the markers ${start} and ${end}.`);
  return `${text.slice(0, from + start.length)}\n\n${await render()}\n\n${text.slice(to)}`;
}

const code = (text: string) => `\`${text}\``;
const row = (...cells: string[]) => `| ${cells.join(' | ')} |`;
const table = (head: string[], rows: string[][]) =>
  [row(...head), `|${head.map(() => '---').join('|')}|`, ...rows.map((cells) => row(...cells))].join('\n');

type Described = Pick<Gateway, 'routes' | 'sockets' | 'owners' | 'families'>;
let described: Promise<Described> | null = null;

/** What the areas add, asked of a gateway with an empty store that listens nowhere. */
const describedGateway = (): Promise<Described> => {
  described ??= (async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-docs-'));
    const gateway = await start(readSettings({ PORT: '0', GATEWAY_DATA_DIR: dataDir }), { listen: false });
    await gateway.stop();
    // SQLite may still be taking its own files away.
    rmSync(dataDir, { recursive: true, force: true });
    return gateway;
  })();
  return described;
};

export const description = async (): Promise<Description> =>
  describeRoutes((await describedGateway()).routes, { version: '', publicUrl: '' });

async function routesTable(): Promise<string> {
  const groups = new Map<string, { route: Route; methods: string[] }>();
  const { routes, sockets } = await describedGateway();
  for (const route of [...routes, ...sockets]) {
    const key = [route.path, route.summary, String(route.scopes)].join('\n');
    const group = groups.get(key) ?? { route, methods: [] };
    group.methods.push(sockets.includes(route) ? 'WebSocket' : route.method);
    groups.set(key, group);
  }
  return table(
    ['Method', 'Path', 'Scopes', 'What it does'],
    [...groups.values()].map(({ route: { path, scopes, summary }, methods }) => [
      methods.join(' '),
      code(path),
      scopes === 'public' ? 'none, no key needed' : scopes.map(code).join(', '),
      summary,
    ]),
  );
}

/** What each area says about the end of a workspace or a user. */
async function endingsTable(which: 'withWorkspace' | 'withUser'): Promise<string> {
  const endings = (await describedGateway()).owners[which];
  return table(
    ['What', 'Tables', 'Ends'],
    endings.map(({ area, tables, atOnce, kept }) => [
      area,
      tables.map(code).join(', '),
      kept === undefined ? (atOnce ? 'at once' : 'step by step') : `stays: ${kept}`,
    ]),
  );
}

async function metricsTable(): Promise<string> {
  const { families } = await describedGateway();
  return table(
    ['Metric', 'Type', 'Labels', 'What it counts'],
    families.map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
  );
}

async function providersTable(): Promise<string> {
  const rows = await Promise.all(
    providers.map(async (provider) => [
      code(provider.name),
      baseOf(provider),
      await credentialOf(provider),
      (provider.options ?? []).map(code).join(', '),
      SHAPES[provider.dialect],
    ]),
  );
  return table(['Name', 'Base address', 'Credential is sent as', 'Configurations', 'Chat shape'], rows);
}

/** The endpoints that not every provider with a chat has, by the names of their columns. */
const FAMILIES: readonly (readonly [string, EndpointType])[] = [
  ['Completions', 'complete'],
  ['Embeddings', 'embed'],
  ['Rerank', 'rerank'],
  ['Moderations', 'moderate'],
  ['Images', 'imageGenerate'],
  ['Image edits', 'imageEdit'],
  ['Variations', 'imageVariation'],
  ['Speech', 'createSpeech'],
  ['Transcriptions', 'createTranscription'],
  ['Translations', 'createTranslation'],
  ['Token counts', 'countTokens'],
];

function endpointsTable(): string {
  const rows = providers.map((provider) => [
    code(provider.name),
    provider.dialect === 'none' ? '' : '✓',
    ...FAMILIES.map(([, endpoint]) => markOf(provider, endpoint)),
    provider.models || provider.dialect === 'openai-chat' ? '✓' : '',
  ]);
  const isSomething = (cells: string[]) => cells.slice(1).some((cell) => cell !== '');
  return table(['Name', 'Chat', ...FAMILIES.map(([name]) => name), 'Models'], rows.filter(isSomething));
}

function markOf(provider: Provider, endpoint: EndpointType): string {
  const own = provider.endpoints?.[endpoint];
  if (own) return own === 'chat' ? 'by chat' : 'translated';
  return passesAsIs({ provider, customHost: null }, endpoint) ? '✓' : '';
}

const SHAPES: Record<Provider['dialect'], string> = {
  'openai-chat': 'OpenAI',
  anthropic: 'Anthropic',
  gemini: 'Gemini',
  converse: 'Converse',
  cohere: 'Cohere',
  none: '',
};

/** The address with `{option}` where an option decides: options are given, as they are asked for, by their own names. */
function baseOf(provider: Provider): string {
  const { baseUrl, inProcess } = provider;
  if (inProcess) return 'inside the gateway';
  if (baseUrl === null) return '`custom_host`, required';
  if (typeof baseUrl === 'string') return code(baseUrl);
  const options: Record<string, string> = {};
  for (;;) {
    try {
      let base = baseUrl(options, '/chat');
      for (const name of Object.keys(options)) base = base.replaceAll(options[name]!, `{${name}}`);
      return code(base);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.param === null) throw error;
      // An option that is an address itself is the base.
      if (error.code === 'invalid_provider_option') return code(`{${error.param}}`);
      options[error.param] = error.param.replaceAll('_', '-');
    }
  }
}

/** Where more than a header decides, the page says in words what the credential may be. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  'azure-ai': '`api-key` or bearer token, by host; or an Entra token',
  'azure-openai': '`api-key`; or an Entra token',
  bedrock: 'AWS signature, or a Bedrock API key as bearer token',
  oracle: 'OCI signature with an API signing key',
  sagemaker: 'AWS signature',
  simulator: 'none',
  'vertex-ai': 'bearer token, made from a service account or given',
};

const MARK = 'credential';
const noTokens: TokenSource = {
  get: () => Promise.reject(new Error('no token is fetched here')),
  postForm: () => Promise.reject(new Error('no token is fetched here')),
};

/** Authorises a call with a marked credential and looks where the mark comes out. */
async function credentialOf(provider: Provider): Promise<string> {
  const words = CREDENTIALS[provider.name];
  if (words) return words;
  const authorized = async (credential: Secret | null) => {
    const headers = new Headers();
    await provider.authorize({
      provider: provider.name,
      credential,
      options: {},
      method: 'GET',
      url: 'https://provider.example/',
      headers,
      body: null,
      tokens: noTokens,
      now: 0,
    });
    return [...headers].filter(([, value]) => value.includes(MARK));
  };
  const isOptional = await authorized(null).then(
    () => true,
    () => false,
  );
  const found = await authorized(new Secret(MARK));
  if (found.length === 0) throw new Error(`${provider.name}: say in CREDENTIALS how its credential is sent.`);
  const sent = found.map(([name, value]) => code(`${name}: ${value.replace(MARK, '…')}`)).join(' and ');
  return isOptional ? `${sent}, where there is one` : sent;
}

function providerKeysTable(): string {
  const rows = providers.flatMap(({ name, environment }) => (environment ? [[code(environment), code(name)]] : []));
  return table(['Variable', 'Virtual key and provider'], rows);
}

function checksTable(): string {
  return table(['Check', 'On', 'Parameters', 'Passes when'], checkRows());
}

function versionsTable(): string {
  return table(['Version', 'State', 'Log', 'Remarks'], versionRows());
}

function clientsTable(): string {
  const { head, rows, notes } = clientRows();
  return `${table(head, rows)}\n\n${notes.join('\n')}`;
}

if (import.meta.main) {
  for (const generated of generatedTables) {
    const file = join(root, generated.page);
    writeFileSync(file, await withTable(readFileSync(file, 'utf8'), generated));
  }
  for (const { path, render } of generatedFiles) writeFileSync(join(root, path), await render());
}
