import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { ResponseSummary } from '../../api/types.d.ts';
import { isRecord, type Json, listIn, textIn } from '../../conversation/parts.ts';
import { itemTurn } from '../../conversation/read.ts';
import { Turns } from '../../conversation/turns.tsx';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { formatMoney, formatNumber, formatTime } from '../../design/format.ts';
import { Card, KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Progress, Skeleton } from '../../design/states.tsx';
import { useOpenLogs } from '../../shell/open-logs.ts';
import { isGoing, toneOf, useCosts, useResponse } from './response.ts';
import { CancelResponse } from './response-list.tsx';

const MOST_INPUT = 100;

interface ViewProps {
  readonly id: string;
  readonly onResponse: (id: string) => void;
  readonly onContainer: (id: string) => void;
  readonly onGone: () => void;
}

/** A response as a conversation, with what its tools did between the turns, while it happens. */
export function ResponseView({ id, onResponse, onContainer, onGone }: ViewProps) {
  const [isEnding, setEnding] = useState(false);
  const response = useResponse(id);
  const input = useApi('/v1/responses/{response_id}/input_items', {
    params: { response_id: id },
    query: { limit: MOST_INPUT, order: 'asc' },
  });
  if (response.error) return <ErrorNote error={response.error} onRetry={() => void response.refetch()} />;
  if (!response.data) return <Skeleton lines={6} />;
  const told = response.data;
  const status = textIn(told.status);
  const asked = isRecord(input.data) ? input.data : {};
  const output = listIn(told.output);
  const system = textIn(told.instructions);
  const turns = [
    ...(system ? [{ role: 'system', parts: [{ kind: 'text' as const, text: system }] }] : []),
    ...listIn(asked.data).flatMap(itemTurn),
    ...output.flatMap(itemTurn),
  ];
  const containers = [
    ...new Set(
      output.filter(isRecord).flatMap(({ container_id }) => (textIn(container_id) ? [textIn(container_id)] : [])),
    ),
  ];
  return (
    <div className="responses-view">
      <Stack gap={3}>
        {isRecord(told.error) && <Note tone="bad">{textIn(told.error.message) || textIn(told.error.code)}</Note>}
        {input.error && <ErrorNote error={input.error} onRetry={() => void input.refetch()} />}
        <Turns turns={turns} />
        {asked.has_more === true && (
          <p className="soft small">Of what was asked, the first {MOST_INPUT} items are shown.</p>
        )}
        {isGoing(status) && <Progress label="It is being made" />}
      </Stack>
      <Card title="About it">
        <Stack gap={4}>
          <Row>
            <Badge tone={toneOf(status)} dot>
              {status.replaceAll('_', ' ')}
            </Badge>
            {told.background === true && isGoing(status) && <CancelResponse id={id} />}
            {!isGoing(status) && (
              <Button size="small" icon="trash" onClick={() => setEnding(true)}>
                Delete
              </Button>
            )}
          </Row>
          <Facts told={told} id={id} onResponse={onResponse} />
          {containers.length > 0 && (
            <Stack gap={2}>
              <h3>Where its code ran</h3>
              {containers.map((container) => (
                <Row key={container}>
                  <Button size="small" icon="cube" onClick={() => onContainer(container)}>
                    …{container.slice(-8)}
                  </Button>
                </Row>
              ))}
            </Stack>
          )}
        </Stack>
      </Card>
      {isEnding && <DeleteResponse id={id} onClose={() => setEnding(false)} onDeleted={onGone} />}
    </div>
  );
}

function Facts({ told, id, onResponse }: { readonly told: Json; readonly id: string } & Pick<ViewProps, 'onResponse'>) {
  const openLogs = useOpenLogs();
  const list = useApi('/v1/responses', { query: { id } });
  const summary: ResponseSummary | undefined = list.data?.data[0];
  const cost = useCosts(summary ? [summary] : [], isGoing(textIn(told.status)));
  const usage = isRecord(told.usage) ? told.usage : null;
  const previous = textIn(told.previous_response_id);
  const trace = summary?.trace_id ?? null;
  const spent = trace === null ? undefined : cost.get(trace);
  const count = (value: unknown) => formatNumber(typeof value === 'number' ? value : 0);
  const tools = [
    ...new Set(
      listIn(told.tools)
        .filter(isRecord)
        .map((tool) => textIn(tool.name) || textIn(tool.type)),
    ),
  ];
  return (
    <Stack gap={4}>
      <KeyValue
        rows={[
          ['Model', <strong key="model">{textIn(told.model) || '–'}</strong>],
          ['Made', told.background === true ? 'in the background' : 'at once'],
          ['Asked', summary ? formatTime(summary.created_at * 1_000) : '–'],
          ['Tokens', usage ? `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out` : '–'],
          ...(spent
            ? [
                [
                  'Cost of its trace',
                  `${spent.cost === null ? 'not known' : formatMoney(spent.cost)}, ${spent.calls} ${spent.calls === 1 ? 'call' : 'calls'}`,
                ] as const,
              ]
            : []),
          ['Tools', tools.length > 0 ? tools.join(', ') : 'none'],
          ...(summary ? [['Kept until', formatTime(summary.expires_at * 1_000)] as const] : []),
          ['Id', <code key="id">{id}</code>],
        ]}
      />
      <Row>
        {previous && (
          <Button size="small" icon="left" onClick={() => onResponse(previous)}>
            What came before
          </Button>
        )}
        {openLogs && summary && trace !== null && (
          <Button
            size="small"
            icon="list"
            onClick={() =>
              openLogs([`trace:${trace}`], { from: (summary.created_at - 60) * 1_000, until: Date.now() + 60_000 })
            }
          >
            Its calls
          </Button>
        )}
      </Row>
    </Stack>
  );
}

function DeleteResponse({
  id,
  onClose,
  onDeleted,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const remove = useAction(() => api.delete('/v1/responses/{response_id}', { params: { response_id: id } }), {
    changes: ['/v1/responses'],
    done: 'The response is deleted.',
    onDone: onDeleted,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this response"
      name={id.slice(-8)}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      What was asked and said in <code>{id}</code> is gone for good, and responses that went on from it cannot be gone
      on from any more. Containers and files that its code made stay, and so do its calls in the log.
    </ConfirmByName>
  );
}
