import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Assistant } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Select, Textarea } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';

const has = (assistant: Assistant | null, type: Assistant['tools'][number]['type']) =>
  assistant?.tools.some((tool) => tool.type === type) ?? false;

export function EditAssistant({
  assistant,
  onClose,
  onSaved,
}: {
  /** Null: a new one. */
  readonly assistant: Assistant | null;
  readonly onClose: () => void;
  readonly onSaved: (id: string) => void;
}) {
  const [name, setName] = useState(assistant?.name ?? '');
  const [model, setModel] = useState(assistant?.model ?? '');
  const [instructions, setInstructions] = useState(assistant?.instructions ?? '');
  const [code, setCode] = useState(has(assistant, 'code_interpreter'));
  const [search, setSearch] = useState(has(assistant, 'file_search'));
  const before = assistant?.tool_resources.file_search?.vector_store_ids?.[0] ?? '';
  const [store, setStore] = useState(before);
  const stores = useApi('/v1/vector_stores', { query: { limit: 100 } }, { enabled: search });
  const save = useAction(
    () => {
      const body = {
        name: name || null,
        model,
        instructions: instructions || null,
        tools: [
          ...(assistant?.tools.filter(
            (tool) =>
              tool.type === 'function' ||
              (tool.type === 'code_interpreter' && code) ||
              (tool.type === 'file_search' && search),
          ) ?? []),
          ...(code && !has(assistant, 'code_interpreter') ? [{ type: 'code_interpreter' as const }] : []),
          ...(search && !has(assistant, 'file_search') ? [{ type: 'file_search' as const }] : []),
        ],
        ...(search &&
          store !== before && { tool_resources: { file_search: { vector_store_ids: store ? [store] : [] } } }),
      };
      return assistant
        ? api.post('/v1/assistants/{assistant_id}', { params: { assistant_id: assistant.id }, body })
        : api.post('/v1/assistants', { body });
    },
    {
      changes: ['/v1/assistants'],
      done: 'The assistant is saved.',
      onDone: ({ id }) => {
        onClose();
        onSaved(id);
      },
      onFault: () => {},
    },
  );
  const fault = (param: string) => faultAbout(save.error, param);
  return (
    <FormDialog
      title={assistant ? 'Edit the assistant' : 'Create an assistant'}
      submit={assistant ? 'Save' : 'Create the assistant'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Name" error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Support"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Model" error={fault('model')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="gpt-4o-mini"
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        )}
      </Field>
      <Field label="Instructions" isOptional error={fault('instructions')}>
        {(control) => (
          <Textarea
            {...control}
            rows={6}
            placeholder="Answer briefly, and only from the handbook."
            value={instructions}
            onChange={(event) => setInstructions(event.target.value)}
          />
        )}
      </Field>
      <Stack gap={2}>
        <span className="field-label">Tools</span>
        <Checkbox checked={search} onChange={setSearch}>
          Search files
        </Checkbox>
        <Checkbox checked={code} onChange={setCode}>
          Run code
        </Checkbox>
      </Stack>
      {search && (
        <Field label="Vector store">
          {(control) => (
            <Select
              {...control}
              value={store}
              onChange={setStore}
              choices={[
                { value: '', label: 'That of the thread' },
                ...(stores.data?.data ?? []).map((each) => ({ value: each.id, label: each.name || each.id })),
              ]}
            />
          )}
        </Field>
      )}
    </FormDialog>
  );
}
