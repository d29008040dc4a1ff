import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Assistant } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { ConfirmByName, SidePanel } from '../../design/dialog.tsx';
import { formatTime } from '../../design/format.ts';
import { Card, KeyValue, Row, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { EditAssistant } from './edit-assistant.tsx';

export const nameOfAssistant = ({ name, id }: Assistant): string => name || `…${id.slice(-8)}`;
export const toolNames = ({ tools }: Assistant): string[] =>
  tools.map((tool) => (tool.type === 'function' ? tool.function.name : tool.type.replace('_', ' ')));

const COLUMNS: readonly Column<Assistant>[] = [
  { id: 'name', header: 'Assistant', sort: nameOfAssistant, cell: (each) => <strong>{nameOfAssistant(each)}</strong> },
  { id: 'model', header: 'Model', sort: ({ model }) => model, cell: ({ model }) => <code>{model}</code> },
  {
    id: 'tools',
    header: 'Tools',
    hideBelow: 'small',
    cell: (each) =>
      toolNames(each).length > 0 ? (
        <span className="line gap-1">
          {toolNames(each).map((tool) => (
            <Badge key={tool}>{tool}</Badge>
          ))}
        </span>
      ) : (
        <span className="soft">none</span>
      ),
  },
  {
    id: 'about',
    header: 'Instructions',
    hideBelow: 'medium',
    cell: ({ instructions }) => <span className="soft">{instructions ?? '–'}</span>,
  },
  {
    id: 'made',
    header: 'Made',
    hideBelow: 'large',
    width: '110px',
    sort: ({ created_at }) => created_at,
    cell: ({ created_at }) => (
      <span className="soft">
        <Ago at={created_at * 1_000} />
      </span>
    ),
  },
];

export function AssistantList({
  open,
  onOpen,
  onThread,
}: {
  readonly open: string;
  readonly onOpen: (id: string) => void;
  readonly onThread: (id: string) => void;
}) {
  const may = useMay();
  const mayWrite = may('assistants.write');
  const [editing, setEditing] = useState<Assistant | 'new' | null>(null);
  const [ending, setEnding] = useState<Assistant | null>(null);
  const list = useApi('/v1/assistants', { query: { limit: 100 } });
  useShortcut('c', 'Create an assistant', () => mayWrite && setEditing('new'));
  const create = mayWrite && (
    <Button look="primary" icon="plus" onClick={() => setEditing('new')}>
      Create an assistant
    </Button>
  );
  const { headers, isMissing } = usePaying();
  const begin = useAction(
    (assistant: Assistant) => api.post('/v1/threads', { body: { metadata: { assistant: assistant.id } }, headers }),
    { changes: ['/v1/threads'], onDone: ({ id }) => onThread(id) },
  );
  const opened = list.data?.data.find(({ id }) => id === open) ?? null;
  return (
    <Stack gap={3}>
      {list.data && list.data.data.length > 0 && <Row>{create}</Row>}
      <Card isFlush>
        <Table
          label="Assistants"
          rows={list.data?.data}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ id }) => onOpen(id === open ? '' : id)}
          openKey={open || null}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="chat" title="No assistants yet" action={create}>
              An assistant is a model with instructions and tools. Applications of OpenAI's Assistants API need a new
              base URL and nothing else.
            </EmptyState>
          }
        />
      </Card>
      {list.data?.has_more && <p className="soft small">The latest 100 are shown.</p>}
      {opened && (
        <SidePanel title={nameOfAssistant(opened)} isOpen onClose={() => onOpen('')}>
          <Stack gap={6}>
            {mayWrite && (
              <Row>
                <Button
                  look="primary"
                  icon="chat"
                  disabled={isMissing}
                  isBusy={begin.isPending}
                  onClick={() => begin.mutate(opened)}
                >
                  Talk to it
                </Button>
                <Button icon="edit" onClick={() => setEditing(opened)}>
                  Edit
                </Button>
                <Button icon="trash" onClick={() => setEnding(opened)}>
                  Delete
                </Button>
              </Row>
            )}
            <KeyValue
              rows={[
                ['Model', <code key="model">{opened.model}</code>],
                ['About', opened.description ?? '–'],
                ['Tools', toolNames(opened).join(', ') || 'none'],
                ['Vector stores', opened.tool_resources.file_search?.vector_store_ids?.join(', ') || 'none'],
                ['Made', formatTime(opened.created_at * 1_000)],
                ['Id', <code key="id">{opened.id}</code>],
              ]}
            />
            <Stack gap={2}>
              <h3>Instructions</h3>
              <p className="assistants-text">{opened.instructions ?? 'none'}</p>
            </Stack>
          </Stack>
        </SidePanel>
      )}
      {editing && (
        <EditAssistant
          assistant={editing === 'new' ? null : editing}
          onClose={() => setEditing(null)}
          onSaved={onOpen}
        />
      )}
      {ending && (
        <DeleteAssistant
          assistant={ending}
          onClose={() => setEnding(null)}
          onDeleted={() => {
            setEnding(null);
            onOpen('');
          }}
        />
      )}
    </Stack>
  );
}

function DeleteAssistant({
  assistant,
  onClose,
  onDeleted,
}: {
  readonly assistant: Assistant;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const remove = useAction(
    () => api.delete('/v1/assistants/{assistant_id}', { params: { assistant_id: assistant.id } }),
    { changes: ['/v1/assistants'], done: 'The assistant is deleted.', onDone: onDeleted, onFault: () => {} },
  );
  return (
    <ConfirmByName
      title="Delete this assistant"
      name={nameOfAssistant(assistant)}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Applications that name it are refused from then on. Its threads stay, and runs that have begun go on.
    </ConfirmByName>
  );
}
