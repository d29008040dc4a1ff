import { useApi } from '../../api/hooks.ts';
import type { McpServer } from '../../api/types.d.ts';
import { CodeBlock } from '../../design/copy.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';

const written = (value: unknown): string => JSON.stringify(value, null, 2);

/** The header that the server would get if the signed-in user called now, and what stands in it. No token is shown. */
export function Identity({ server: { slug } }: { readonly server: McpServer }) {
  const told = useApi('/v1/mcp-servers/{slug}/identity', { params: { slug } });
  return (
    <Card title="What it is told of you" about="The exact header of a call by you, without any secret.">
      {told.error ? <ErrorNote error={told.error} /> : !told.data ? <Skeleton /> : <Told {...told.data} />}
    </Card>
  );
}

function Told({
  method,
  header,
  claims,
  signed,
  problem,
}: {
  readonly method: string | null;
  readonly header: string | null;
  readonly claims: Record<string, unknown> | null;
  readonly signed: { algorithm: string; issuer: string; audience: string | null; seconds: number } | null;
  readonly problem: string | null;
}) {
  if (!method || !header)
    return (
      <p className="soft">
        Nothing. Give <code>user_identity_forwarding</code> in the settings, and the server learns who is calling.
      </p>
    );
  return (
    <Stack gap={3}>
      {problem && <Note tone="warn">{problem}</Note>}
      {method === 'claims_header' && (
        <CodeBlock title="Header, readable and not signed" code={`${header}: ${JSON.stringify(claims)}`} />
      )}
      {method === 'bearer' && (
        <CodeBlock title="Header" code={`${header}: Bearer <the user's own access token, unchanged>`} />
      )}
      {signed && (
        <CodeBlock
          title={`Header, signed with ${signed.algorithm}`}
          code={`${header}: <a token that says what stands below, good for ${signed.seconds} s>`}
        />
      )}
      {claims && (
        <CodeBlock
          title="Claims"
          code={written(
            signed ? { ...claims, iss: signed.issuer, ...(signed.audience && { aud: signed.audience }) } : claims,
          )}
        />
      )}
    </Stack>
  );
}
