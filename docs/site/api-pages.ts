import { type Description, typeOf } from '../api-types.ts';

/** The reference of the API, a page for each tag of its description, and one for the objects that several routes share. */

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly unknown[];
  readonly 'x-scopes'?: readonly string[];
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    schema: Schema;
    description?: string;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
}

export interface ApiPage {
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

const LONGEST_TYPE = 160;

/** In a table a pipe would end the cell, and a brace may begin an expression. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s+/g, ' ');
const code = (text: string): string => `<code v-pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</code>`;
const shortType = (schema: Schema | undefined): string => {
  const type = typeOf(schema);
  return cell(code(type.length > LONGEST_TYPE ? `${type.slice(0, LONGEST_TYPE)}…` : type));
};
const prose = (text: unknown): string =>
  typeof text === 'string' ? cell(text.replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;')) : '';

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function fieldsOf(schema: Schema | undefined): string {
  if (!schema) return '';
  const { properties } = schema as { properties?: Record<string, Schema> };
  if (!properties) return `${code(typeOf(schema).slice(0, 2_000))}`;
  const required = new Set((schema.required as readonly string[] | undefined) ?? []);
  const rows = Object.entries(properties).map(([name, each]) => [
    `${code(name)}${required.has(name) ? ', required' : ''}`,
    shortType(each),
    prose(each.description),
  ]);
  return table(['Field', 'Type', 'Meaning'], rows);
}

const anchorOf = (name: string): string => name.toLowerCase();

function contentOf(content: Readonly<Record<string, { readonly schema?: Schema }>> | undefined): string {
  return Object.entries(content ?? {})
    .map(([type, { schema }]) => {
      const shared = typeof schema?.$ref === 'string' ? schema.$ref.replace(/^.*\//, '') : null;
      const said = shared ? `[${shared}](./objects.md#${anchorOf(shared)})` : fieldsOf(schema);
      return shared ? `${code(type)}: ${said}` : `${code(type)}\n\n${said}`;
    })
    .join('\n\n');
}

function operationText(method: string, path: string, operation: Operation): string {
  const scopes = operation['x-scopes'] ?? [];
  const parts = [`## ${method.toUpperCase()} ${code(path)}`, `${prose(operation.summary)}.`];
  if (scopes.length > 0) parts.push(`Scopes: ${scopes.map(code).join(', ')}`);
  else if (operation.security?.length === 0) parts.push('No key is needed.');
  const parameters = operation.parameters ?? [];
  if (parameters.length > 0)
    parts.push(
      table(
        ['Parameter', 'In', 'Type', 'Meaning'],
        parameters.map(({ name, in: where, required, schema, description }) => [
          `${code(name)}${required ? ', required' : ''}`,
          where,
          shortType(schema),
          prose(description ?? schema.description),
        ]),
      ),
    );
  const body = contentOf(operation.requestBody?.content);
  if (body) parts.push(`**Body.** ${body}`);
  const answer = contentOf(operation.responses['200']?.content);
  if (answer) parts.push(`**Answer.** ${answer}`);
  return parts.join('\n\n');
}

/** A page without the elements that the site's templates need. */
export const plainText = (text: string): string =>
  text
    .replace(
      /<code v-pre>(.*?)<\/code>/g,
      (_, inside: string) => `\`${inside.replaceAll('&lt;', '<').replaceAll('&amp;', '&')}\``,
    )
    .replaceAll('{target="_blank"}', '');

export function apiPages({ paths, components }: Description): ApiPage[] {
  const byTag = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods) as [string, Operation][]) {
      const tag = operation.tags?.[0] ?? 'other';
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationText(method, path, operation)]);
    }
  const tags = [...byTag].sort(([a], [b]) => (a < b ? -1 : 1));
  const pages = tags.map(([tag, texts]) => ({
    path: `api/${tag.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'service'}.md`,
    title: tag,
    text: `# ${tag}\n\n${texts.join('\n\n')}\n`,
  }));
  const objects = Object.entries(components.schemas).map(
    ([name, schema]) => `## ${name}\n\n${fieldsOf(schema as Schema)}`,
  );
  const all = [...pages, { path: 'api/objects.md', title: 'Objects', text: `# Objects\n\n${objects.join('\n\n')}\n` }];
  const list = all.map(({ path, title }) => `- [${title}](./${path.slice('api/'.length)})`).join('\n');
  const index = `# API\n\nEvery route, from the description that a gateway serves at \`/openapi.json\`; here it is [openapi.json](/openapi.json){target="_blank"}.\n\n${list}\n`;
  return [{ path: 'api/index.md', title: 'API', text: index }, ...all];
}
