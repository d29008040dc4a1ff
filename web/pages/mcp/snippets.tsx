import { CodeBlock } from '../../design/copy.tsx';
import { Card } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';

const json = (value: unknown): string => JSON.stringify(value, null, 2);

/** What is pasted into each client. People sign in with the browser; programs send a key. */
const CLIENTS: readonly {
  readonly value: string;
  readonly label: string;
  readonly code: (name: string, url: string) => string;
}[] = [
  {
    value: 'claude-code',
    label: 'Claude Code',
    code: (name, url) => `# then /mcp in Claude Code opens the browser to sign in
claude mcp add --transport http ${name} ${url}

# or with a key
claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer $GATEWAY_KEY"`,
  },
  { value: 'cursor', label: 'Cursor', code: (name, url) => json({ mcpServers: { [name]: { url } } }) },
  {
    value: 'vscode',
    label: 'VS Code',
    code: (name, url) => json({ servers: { [name]: { type: 'http', url } } }),
  },
  {
    value: 'codex',
    label: 'Codex',
    code: (name, url) => `# ~/.codex/config.toml
[mcp_servers.${name}]
url = "${url}"
bearer_token_env_var = "GATEWAY_KEY"`,
  },
  {
    value: 'curl',
    label: 'curl',
    code: (_name, url) => `curl ${url} \\
  -H "authorization: Bearer $GATEWAY_KEY" \\
  -H "accept: application/json, text/event-stream" \\
  -H "content-type: application/json" \\
  -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'`,
  },
];

const FILES: Readonly<Record<string, string>> = { cursor: '.cursor/mcp.json', vscode: '.vscode/mcp.json' };

/** The address of a server, ready for the clients that people have. */
export const AddressToPaste = ({
  title = 'Address to paste',
  about,
  name,
  url,
}: {
  readonly title?: string;
  readonly about?: string;
  readonly name: string;
  readonly url: string;
}) => (
  <Card title={title} about={about}>
    <div className="stack gap-3">
      <CodeBlock title="Address" code={url} />
      <Tabs
        label="Clients"
        tabs={CLIENTS.map(({ value, label, code }) => ({
          value,
          label,
          content: <CodeBlock title={FILES[value] ?? label} code={code(name, url)} />,
        }))}
      />
    </div>
  </Card>
);
