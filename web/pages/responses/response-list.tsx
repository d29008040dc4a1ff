import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { ResponseSummary } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Switch } from '../../design/field.tsx';
import { formatMoney, formatNumber } from '../../design/format.ts';
import { Card, Row, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';
import { isGoing, LIVE_MS, toneOf, useCosts } from './response.ts';

const MOST = 50;

/** Responses, the newest first; those that are being made are followed and can be cancelled. */
export function ResponseList({ onResponse }: { readonly onResponse: (id: string) => void }) {
  const may = useMay();
  const [isOnlyRunning, setOnlyRunning] = useState(false);
  const [pages, setPages] = useState<readonly string[]>([]);
  const [isLive, setLive] = useState(false);
  const after = pages.at(-1);
  const list = useApi(
    '/v1/responses',
    { query: { limit: MOST, running: isOnlyRunning ? 'true' : 'false', ...(after && { after }) } },
    { refetchInterval: isLive || isOnlyRunning ? LIVE_MS : false, keepsLast: true },
  );
  const rows = list.data?.data;
  const isAnyGoing = rows?.some(({ status }) => isGoing(status)) ?? false;
  if (isAnyGoing !== isLive) setLive(isAnyGoing);
  const costs = useCosts(rows ?? [], isAnyGoing);
  const columns: readonly Column<ResponseSummary>[] = [
    {
      id: 'status',
      header: 'State',
      width: '120px',
      cell: ({ status }) => (
        <Badge tone={toneOf(status)} dot>
          {status.replaceAll('_', ' ')}
        </Badge>
      ),
    },
    { id: 'model', header: 'Model', cell: ({ model }) => <strong>{model ?? '–'}</strong> },
    {
      id: 'kind',
      header: 'Made',
      hideBelow: 'medium',
      cell: ({ background, previous_response_id }) => (
        <span className="soft">
          {background ? 'in the background' : 'at once'}
          {previous_response_id && ', goes on from another'}
        </span>
      ),
    },
    {
      id: 'tokens',
      header: 'Tokens',
      align: 'end',
      hideBelow: 'small',
      width: '90px',
      cell: ({ usage }) => <span className="numeric">{usage ? formatNumber(usage.total_tokens) : '–'}</span>,
    },
    ...(may('logs.list')
      ? [
          {
            id: 'cost',
            header: 'Cost',
            align: 'end' as const,
            width: '90px',
            cell: ({ trace_id }: ResponseSummary) => {
              const cost = trace_id === null ? null : (costs.get(trace_id)?.cost ?? null);
              return <span className="numeric">{cost === null ? '–' : formatMoney(cost)}</span>;
            },
          },
        ]
      : []),
    {
      id: 'age',
      header: 'Age',
      width: '110px',
      cell: ({ created_at }) => (
        <span className="soft">
          <Ago at={created_at * 1_000} />
        </span>
      ),
    },
    {
      id: 'more',
      header: <span className="hidden-visually">Actions</span>,
      width: '96px',
      align: 'end',
      cell: (response) => response.background && isGoing(response.status) && <CancelResponse id={response.id} />,
    },
  ];
  return (
    <Stack gap={3}>
      <Row>
        <Switch
          checked={isOnlyRunning}
          onChange={(isOn) => {
            setPages([]);
            setOnlyRunning(isOn);
          }}
        >
          Only what is being made
        </Switch>
      </Row>
      <Card isFlush>
        <Table
          label="Responses"
          rows={rows}
          columns={columns}
          rowKey={({ id }) => id}
          onOpen={({ id }) => onResponse(id)}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            isOnlyRunning ? (
              <EmptyState icon="clock" title="Nothing is being made">
                Responses that were asked for with <code>background: true</code> show here until they are done.
              </EmptyState>
            ) : (
              <EmptyState icon="clock" title="No responses yet">
                Call <code>POST /v1/responses</code> with <code>background: true</code>, with a tool that the gateway
                runs, or on a model whose provider keeps none. What it says is kept here for 30 days.
              </EmptyState>
            )
          }
        />
      </Card>
      {(list.data?.has_more || pages.length > 0) && (
        <Row>
          <Button size="small" icon="left" disabled={pages.length === 0} onClick={() => setPages(pages.slice(0, -1))}>
            Newer
          </Button>
          <Button
            size="small"
            icon="right"
            disabled={!list.data?.has_more}
            onClick={() => list.data && setPages([...pages, list.data.last_id])}
          >
            Older
          </Button>
        </Row>
      )}
    </Stack>
  );
}

/** What was reached until then stays. */
export function CancelResponse({ id }: { readonly id: string }) {
  const cancel = useAction(() => api.post('/v1/responses/{response_id}/cancel', { params: { response_id: id } }), {
    changes: ['/v1/responses'],
    done: 'The response is cancelled; what was reached stays.',
  });
  return (
    <Button
      size="small"
      icon="close"
      isBusy={cancel.isPending}
      onClick={(event) => {
        event.stopPropagation();
        cancel.mutate();
      }}
    >
      Cancel
    </Button>
  );
}
