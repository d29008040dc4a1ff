import { CodeBlock } from '../../design/copy.tsx';
import { Field, Input } from '../../design/field.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';

const PLACEHOLDER = 'YOUR_KEY';

/** How each client is told of the gateway. The key is put in by the page and goes nowhere. */
const SNIPPETS: readonly {
  id: string;
  label: string;
  title: string;
  code: (address: string, key: string) => string;
}[] = [
  {
    id: 'claude-code',
    label: 'Claude Code',
    title: 'Shell',
    code: (address, key) => `export ANTHROPIC_BASE_URL=${address}\nexport ANTHROPIC_AUTH_TOKEN=${key}\nclaude`,
  },
  {
    id: 'codex',
    label: 'Codex',
    title: '~/.codex/config.toml',
    code: (address, key) =>
      `model_provider = "gateway"\n\n[model_providers.gateway]\nname = "Gateway"\nbase_url = "${address}/v1"\nenv_key = "GATEWAY_KEY"\nwire_api = "responses"\n\n# in the shell: export GATEWAY_KEY=${key}`,
  },
  {
    id: 'cursor',
    label: 'Cursor',
    title: 'Settings → Models → OpenAI API key',
    code: (address, key) => `API key:                   ${key}\nOverride OpenAI base URL:  ${address}/v1`,
  },
  {
    id: 'open-webui',
    label: 'Open WebUI',
    title: 'Shell',
    code: (address, key) => `export OPENAI_API_BASE_URL=${address}/v1\nexport OPENAI_API_KEY=${key}\nopen-webui serve`,
  },
  {
    id: 'curl',
    label: 'curl',
    title: 'Shell',
    code: (address, key) =>
      `curl ${address}/v1/chat/completions \\\n  -H "authorization: Bearer ${key}" \\\n  -H "content-type: application/json" \\\n  -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}'`,
  },
  {
    id: 'typescript',
    label: 'TypeScript',
    title: 'npm install openai',
    code: (address, key) =>
      `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${address}/v1', apiKey: '${key}' });\nconst answer = await client.chat.completions.create({\n  model: 'gpt-4o-mini',\n  messages: [{ role: 'user', content: 'Hello' }],\n});\nconsole.log(answer.choices[0].message.content);`,
  },
  {
    id: 'python',
    label: 'Python',
    title: 'pip install openai',
    code: (address, key) =>
      `from openai import OpenAI\n\nclient = OpenAI(base_url="${address}/v1", api_key="${key}")\nanswer = client.chat.completions.create(\n    model="gpt-4o-mini",\n    messages=[{"role": "user", "content": "Hello"}],\n)\nprint(answer.choices[0].message.content)`,
  },
];

export function Snippets({
  secret: key,
  onSecret: setKey,
}: {
  readonly secret: string;
  readonly onSecret: (secret: string) => void;
}) {
  return (
    <Card title="Connect a client" about="Any client that takes another base URL works as it is.">
      <Stack>
        <Field label="Your key" help="Put into the text below, here in your browser only." isOptional>
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="off"
              placeholder="paste it to fill it in"
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          )}
        </Field>
        <Tabs
          label="Clients"
          tabs={SNIPPETS.map(({ id, label, title, code }) => ({
            value: id,
            label,
            content: <CodeBlock title={title} code={code(location.origin, key.trim() || PLACEHOLDER)} />,
          }))}
        />
      </Stack>
    </Card>
  );
}
