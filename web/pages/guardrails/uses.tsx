import { Link } from '@tanstack/react-router';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { CodeBlock } from '../../design/copy.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { type Column, Table } from '../../design/table.tsx';
import type { WholeGuardrail } from './guardrail.ts';

type Use = ResponseOf<'/v1/guardrails/{guardrail}/uses'>['data'][number];

const KINDS: Readonly<Record<Use['kind'], string>> = {
  organisation: 'the whole organisation',
  workspace: 'a workspace',
  api_key: 'an API key',
  config: 'a config',
};

const COLUMNS: readonly Column<Use>[] = [
  {
    id: 'name',
    header: 'Named by',
    cell: ({ kind, name, id }) =>
      kind === 'config' ? (
        <Link to="/routing/$slug" params={{ slug: id } as never} className="guardrails-link truncate">
          {name}
        </Link>
      ) : (
        <span className="truncate">{name}</span>
      ),
  },
  { id: 'kind', header: 'Which is', width: '190px', cell: ({ kind }) => <span className="soft">{KINDS[kind]}</span> },
  {
    id: 'on',
    header: 'Looks at',
    width: '190px',
    cell: ({ on }) => (
      <span className="line gap-1">
        {on.map((side) => (
          <Badge key={side}>{side === 'input' ? 'requests' : 'answers'}</Badge>
        ))}
      </span>
    ),
  },
];

/** Who names the guardrail, and how to name it. */
export function Uses({ guardrail: { slug } }: { readonly guardrail: WholeGuardrail }) {
  const uses = useApi('/v1/guardrails/{guardrail}/uses', { params: { guardrail: slug } });
  const code = `{ "input_guardrails": ["${slug}"], "output_guardrails": ["${slug}"] }`;
  return (
    <Card title="Where it holds" isFlush>
      <Table
        label="Where it holds"
        rows={uses.data?.data}
        columns={COLUMNS}
        rowKey={({ kind, id }) => `${kind} ${id}`}
        error={uses.error}
        onRetry={() => void uses.refetch()}
        empty={
          <div className="guardrails-none">
            <Stack gap={3}>
              <p>
                It holds nowhere yet. Name it in a config, or in the defaults of a key, a workspace or the organisation:
              </p>
              <CodeBlock title="In a config, or as defaults" code={code} />
            </Stack>
          </div>
        }
      />
    </Card>
  );
}
