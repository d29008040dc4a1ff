import { useMemo, useState } from 'react';
import type { ApiFault } from '../../api/fault.ts';
import { useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import type { Schema } from '../../design/editor/schema.ts';
import { Input, Segmented, Switch } from '../../design/field.tsx';
import { Card } from '../../design/layout.tsx';
import { SchemaForm } from '../../design/schema-form.tsx';
import { ErrorNote } from '../../design/states.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { type ActionsDraft, type CheckDraft, type DescribedCheck, type Draft, titleOf } from './guardrail.ts';
import { Prose } from './prose.tsx';

export interface ChecksProps {
  readonly known: readonly DescribedCheck[];
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly isReadOnly: boolean;
  readonly fault: ApiFault | null;
  readonly title: string;
}

/** The checks of a guardrail as forms, and what becomes of their verdict. */
export function Checks({ known, draft, onChange, isReadOnly, fault, title }: ChecksProps) {
  const [isAdding, setAdding] = useState(false);
  const values = useValues();
  const { checks, actions } = draft;
  const set = (index: number, check: CheckDraft | null) =>
    onChange({ ...draft, checks: checks.flatMap((each, at) => (at === index ? (check ? [check] : []) : [each])) });
  const faults = useMemo(() => faultsOf(fault), [fault]);
  const isPlaced = faults.size > 0;
  return (
    <div className="stack gap-4">
      {fault && <ErrorNote error={fault} />}
      {checks.map((check, index) => (
        <CheckCard
          // biome-ignore lint/suspicious/noArrayIndexKey: a check has no other name, and its place is where faults point
          key={`${index} ${check.id}`}
          check={check}
          described={known.find(({ id }) => id === check.id)}
          onChange={(next) => set(index, next)}
          isOnly={checks.length === 1}
          isReadOnly={isReadOnly}
          values={values}
          errorOf={(name) => (isPlaced ? (faults.get(`checks[${index}].parameters.${name}`) ?? null) : null)}
        />
      ))}
      {!isReadOnly && (
        <div>
          <Button icon="plus" onClick={() => setAdding(true)}>
            Add a check
          </Button>
        </div>
      )}
      <Verdict actions={actions} onChange={(next) => onChange({ ...draft, actions: next })} isReadOnly={isReadOnly} />
      {isAdding && (
        <AddCheck
          title={title}
          known={known}
          onClose={() => setAdding(false)}
          onAdd={(id) => {
            setAdding(false);
            onChange({ ...draft, checks: [...checks, { id, parameters: {}, is_enabled: true }] });
          }}
        />
      )}
    </div>
  );
}

/** `checks[0].parameters.words: why (also checks[1].id: why)` → each by its path. */
function faultsOf(fault: ApiFault | null): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!fault) return found;
  for (const [, path, why] of fault.message.matchAll(/(checks\[\d+\][\w.[\]]*):? (.*?)(?= \(also |; checks\[|\)$|$)/gs))
    found.set(path!, why!);
  if (fault.param && !found.has(fault.param)) found.set(fault.param, fault.message);
  return found;
}

function useValues() {
  const workspace_id = useWorkspace().id;
  const may = useMay();
  const mayList = may('virtual_keys.list');
  const keys = useApi('/v1/virtual-keys', { query: { workspace_id, page_size: 200 } }, { enabled: mayList }).data;
  return useMemo(
    (): Readonly<Record<string, readonly string[]>> =>
      mayList ? { virtualKey: keys?.data.map(({ slug }) => slug) ?? [] } : {},
    [keys, mayList],
  );
}

const HOOKS = { input: 'requests', output: 'answers' } as const;

function CheckCard({
  check,
  described,
  onChange,
  isOnly,
  isReadOnly,
  values,
  errorOf,
}: {
  readonly check: CheckDraft;
  readonly described: DescribedCheck | undefined;
  readonly onChange: (check: CheckDraft | null) => void;
  readonly isOnly: boolean;
  readonly isReadOnly: boolean;
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly errorOf: (name: string) => string | null;
}) {
  const title = check.name ?? titleOf(check.id);
  return (
    <Card
      title={
        <span className="line gap-2">
          {title}
          {described?.on.map((hook) => (
            <Badge key={hook}>{HOOKS[hook]}</Badge>
          ))}
          {described?.changes && <Badge tone="info">may change texts</Badge>}
        </span>
      }
      about={described && <Prose text={`Passes when ${described.passes}.`} />}
      actions={
        <span className="line gap-2">
          <Switch
            checked={check.is_enabled}
            disabled={isReadOnly}
            onChange={(is_enabled) => onChange({ ...check, is_enabled })}
          >
            On
          </Switch>
          {!isReadOnly && !isOnly && (
            <IconButton icon="trash" size="small" label={`Remove ${title}`} onClick={() => onChange(null)} />
          )}
        </span>
      }
    >
      {described ? (
        <SchemaForm
          schema={described.parameters as Schema}
          value={check.parameters}
          onChange={(parameters) => onChange({ ...check, parameters })}
          secrets={described.secrets}
          values={values}
          errorOf={errorOf}
          isReadOnly={isReadOnly}
        />
      ) : (
        <p className="soft">
          This gateway knows no check <code>{check.id}</code>.
        </p>
      )}
    </Card>
  );
}

const DENY = [
  { value: 'mark', label: 'Mark (246)' },
  { value: 'deny', label: 'Refuse (446)' },
  { value: 'aside', label: 'Only log' },
] as const;
const STREAM = [
  { value: 'buffer', label: 'Until its end' },
  { value: 'window', label: 'Piece by piece' },
] as const;

function Verdict({
  actions,
  onChange,
  isReadOnly,
}: {
  readonly actions: ActionsDraft;
  readonly onChange: (actions: ActionsDraft) => void;
  readonly isReadOnly: boolean;
}) {
  const kind = actions.deny ? 'deny' : actions.async ? 'aside' : 'mark';
  const set = (change: Partial<ActionsDraft>) => !isReadOnly && onChange({ ...actions, ...change });
  return (
    <Card title="What becomes of it">
      <div className="stack gap-4">
        <div className="stack gap-1">
          <span className="field-label">When a check fails</span>
          <Segmented
            label="When a check fails"
            value={kind}
            choices={DENY}
            onChange={(next) => set({ deny: next === 'deny', async: next === 'aside' })}
          />
        </div>
        <div className="stack gap-1">
          <span className="field-label">A streamed answer is held back</span>
          <Segmented
            label="A streamed answer is held back"
            value={actions.stream}
            choices={STREAM}
            onChange={(stream) => set({ stream })}
          />
        </div>
        <Switch
          checked={actions.sequential}
          disabled={isReadOnly}
          onChange={(sequential) => set({ sequential })}
          help="Each sees what the one before has left. Otherwise all look at once."
        >
          One check after the other
        </Switch>
      </div>
    </Card>
  );
}

function AddCheck({
  title,
  known,
  onAdd,
  onClose,
}: {
  readonly title: string;
  readonly known: readonly DescribedCheck[];
  readonly onAdd: (id: string) => void;
  readonly onClose: () => void;
}) {
  const [find, setFind] = useState('');
  const wanted = find.trim().toLowerCase();
  const shown = known.filter(({ id, passes }) => `${titleOf(id)} ${id} ${passes}`.toLowerCase().includes(wanted));
  return (
    <Dialog title={`Add a check to ${title}`} width="wide" isOpen onClose={onClose}>
      <div className="stack gap-3">
        <Input
          icon="search"
          aria-label="Find a check"
          placeholder="Find a check"
          value={find}
          onChange={(event) => setFind(event.target.value)}
        />
        <ul className="guardrails-known">
          {shown.map(({ id, passes, on }) => (
            <li key={id}>
              <button type="button" className="guardrails-known-item" onClick={() => onAdd(id)}>
                <span className="line gap-2">
                  <strong>{titleOf(id)}</strong>
                  {on.map((hook) => (
                    <Badge key={hook}>{HOOKS[hook]}</Badge>
                  ))}
                </span>
                <span className="soft small">
                  <Prose text={`Passes when ${passes}.`} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
