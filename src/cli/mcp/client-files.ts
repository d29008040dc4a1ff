/** Where MCP clients keep their servers, and in which form. */

export interface NamedAddress {
  readonly name: string;
  readonly url: string;
}

export interface ClientFile {
  /** Where it lies, for people. */
  readonly path: string;
  /** `variable`: the environment variable that holds a key; null: the client signs people in. */
  readonly write: (servers: readonly NamedAddress[], variable: string | null) => string;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);

/** Files of JSON differ in the name of the list, in how an address is called, and in how they name a variable. */
const jsonFile = (
  path: string,
  list: 'mcpServers' | 'servers',
  entryOf: (url: string) => object,
  reference: (variable: string) => string,
): ClientFile => ({
  path,
  write: (servers, variable) =>
    json({
      [list]: Object.fromEntries(
        servers.map(({ name, url }) => [
          name,
          {
            ...entryOf(url),
            ...(variable !== null && { headers: { Authorization: `Bearer ${reference(variable)}` } }),
          },
        ]),
      ),
    }),
});

export const CLIENT_FILES: Readonly<Record<string, ClientFile>> = {
  'claude-code': jsonFile(
    '.mcp.json',
    'mcpServers',
    (url) => ({ type: 'http', url }),
    (variable) => `\${${variable}}`,
  ),
  cursor: jsonFile(
    '.cursor/mcp.json',
    'mcpServers',
    (url) => ({ url }),
    (variable) => `\${env:${variable}}`,
  ),
  vscode: jsonFile(
    '.vscode/mcp.json',
    'servers',
    (url) => ({ type: 'http', url }),
    (variable) => `\${env:${variable}}`,
  ),
  windsurf: jsonFile(
    '~/.codeium/windsurf/mcp_config.json',
    'mcpServers',
    (serverUrl) => ({ serverUrl }),
    (variable) => `\${env:${variable}}`,
  ),
  'gemini-cli': jsonFile(
    '~/.gemini/settings.json',
    'mcpServers',
    (httpUrl) => ({ httpUrl }),
    (variable) => `$${variable}`,
  ),
  codex: {
    path: '~/.codex/config.toml',
    write: (servers, variable) =>
      servers
        .map(({ name, url }) =>
          [
            `[mcp_servers.${JSON.stringify(name)}]`,
            `url = ${JSON.stringify(url)}`,
            ...(variable === null ? [] : [`bearer_token_env_var = ${JSON.stringify(variable)}`]),
          ].join('\n'),
        )
        .join('\n\n'),
  },
};
