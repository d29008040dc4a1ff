import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useId, useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useApi } from '../../api/hooks.ts';
import { Editor, type EditorFault } from '../../design/editor/editor.tsx';
import type { Schema } from '../../design/editor/schema.ts';
import { Icon } from '../../design/icon.tsx';
import { Card } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { drawn, faultsIn, parsed } from './config.ts';
import { ConfigTree } from './config-tree.tsx';
import { ASKED, type Asked, AskFields, metadataOf, Serves } from './dry-run.tsx';

const PAUSE_MS = 350;

/** The value as it was a moment ago: what is being typed is not asked about letter by letter. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

export interface ConfigEditorProps {
  readonly slug: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onSave: (text: string) => void;
  readonly isReadOnly: boolean;
  readonly saveFault: unknown;
}

/** The text and its picture side by side; the gateway says at once what is wrong, and where a call would go. */
export function ConfigEditor({ slug, text, onChange, onSave, isReadOnly, saveFault }: ConfigEditorProps) {
  const [asked, setAsked] = useState<Asked>(ASKED);
  const [reveal, setReveal] = useState<{ path: string } | null>(null);
  const problems = useId();
  const schema = useApi('/v1/config-schema');
  const values = useKnownValues();
  const settled = useSettled(useMemo(() => ({ text, asked }), [text, asked]));
  const config = useMemo(() => parsed(settled.text), [settled.text]);
  const run = useQuery({
    queryKey: ['dry run', slug, settled],
    enabled: config !== null,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.post('/v1/configs/dry-run', {
        signal,
        body: {
          config: config!,
          path: settled.asked.path,
          metadata: metadataOf(settled.asked.metadata),
          body: { ...parsed(settled.asked.more), ...(settled.asked.model && { model: settled.asked.model }) },
        },
      }),
  });
  const faults = useMemo(() => faultsOf([run.error, saveFault]), [run.error, saveFault]);
  // While what is typed is no JSON, the last picture stays.
  const [last, setLast] = useState(config);
  if (config && config !== last) setLast(config);
  const tree = useMemo(() => drawn(config ?? last), [config, last]);
  const explained = useMemo(
    () => (run.data && !run.error ? new Map(run.data.steps.map((step) => [step.path, step])) : null),
    [run.data, run.error],
  );
  const isJson = parsed(text) !== null;
  return (
    <div className="routing-editor">
      <div className="stack gap-2">
        <Editor
          label="Config"
          describedBy={problems}
          value={text}
          onChange={onChange}
          onSave={onSave}
          isReadOnly={isReadOnly}
          schema={schema.data as Schema | undefined}
          values={values}
          faults={faults}
          reveal={reveal}
          height={null}
        />
        <div id={problems} className="routing-faults" aria-live="polite">
          {!isJson ? (
            <span className="routing-fault">
              <Icon name="warn" /> This is not a JSON object yet.
            </span>
          ) : faults.length > 0 ? (
            faults.map(({ path, message }) => (
              <button
                key={`${path} ${message}`}
                type="button"
                className="routing-fault"
                onClick={() => setReveal({ path })}
              >
                <Icon name="warn" />
                <span>
                  {path && <code>{path}</code>} {message}
                </span>
              </button>
            ))
          ) : (
            <span className="soft small line gap-2">
              <Icon name="check" /> It can be saved.
              {!isReadOnly && (
                <span>
                  <kbd>Ctrl</kbd> <kbd>Space</kbd> completes, <kbd>Ctrl</kbd> <kbd>S</kbd> saves.
                </span>
              )}
            </span>
          )}
        </div>
      </div>
      <Card title="Where a call goes" about="A dry run: nothing is sent.">
        <div className="stack gap-4">
          <AskFields asked={asked} onChange={setAsked} />
          {explained && <Serves steps={[...explained.values()]} />}
          <ConfigTree
            root={tree}
            explained={explained}
            onOpen={(path) => setReveal({ path: path.replace(/^config\.?/, '') })}
          />
        </div>
      </Card>
    </div>
  );
}

const faultsOf = (errors: readonly unknown[]): readonly EditorFault[] => {
  const found = errors.find((error): error is ApiFault => error instanceof ApiFault && error.status === 400);
  return found ? faultsIn(found.message) : [];
};

/** What the workspace has, for completion. What the user may not list is not offered. */
function useKnownValues() {
  const workspace_id = useWorkspace().id;
  const may = useMay();
  const query = { workspace_id, page_size: 500 };
  const keys = useApi('/v1/virtual-keys', { query }, { enabled: may('virtual_keys.list') }).data;
  const guardrails = useApi('/v1/guardrails', { query }, { enabled: may('guardrails.list') }).data;
  const providers = useApi('/v1/providers', {}, { enabled: may('virtual_keys.list') }).data;
  return useMemo(() => {
    const slugs = guardrails?.data.map(({ slug }) => slug) ?? [];
    return {
      virtual_key: keys?.data.map(({ slug }) => slug) ?? [],
      provider: providers?.data.map(({ name }) => name) ?? [],
      input_guardrails: slugs,
      output_guardrails: slugs,
    };
  }, [keys, guardrails, providers]);
}
