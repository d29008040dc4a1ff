import { Field, Input, Select, Textarea } from '../../design/field.tsx';
import { Icon } from '../../design/icon.tsx';
import { parsed } from './config.ts';
import type { Explained } from './config-tree.tsx';

/** The call that is thought of. */
export interface Asked {
  readonly model: string;
  /** `tier=paid, user=42`. */
  readonly metadata: string;
  readonly path: string;
  /** More of the body, as JSON. */
  readonly more: string;
}

export const ASKED: Asked = { model: 'gpt-4o-mini', metadata: '', path: '/v1/chat/completions', more: '' };

const PATHS = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/embeddings',
  '/v1/completions',
  '/v1/images/generations',
  '/v1/audio/transcriptions',
].map((path) => ({ value: path, label: path }));

/** `tier=paid, user=42` → its members; what has no sign of equality is left out. */
export const metadataOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(/[,\n]/)
      .map((each) => each.split('='))
      .filter(([name, value]) => name?.trim() && value !== undefined)
      .map(([name, ...value]) => [name!.trim(), value.join('=').trim()]),
  );

export function AskFields({ asked, onChange }: { readonly asked: Asked; readonly onChange: (asked: Asked) => void }) {
  const set = (change: Partial<Asked>) => onChange({ ...asked, ...change });
  const isMoreWrong = asked.more.trim() !== '' && parsed(asked.more) === null;
  return (
    <div className="routing-asked">
      <Field label="Model">
        {(control) => (
          <Input {...control} value={asked.model} onChange={(event) => set({ model: event.target.value })} />
        )}
      </Field>
      <Field label="Metadata">
        {(control) => (
          <Input
            {...control}
            placeholder="tier=paid, user=42"
            value={asked.metadata}
            onChange={(event) => set({ metadata: event.target.value })}
          />
        )}
      </Field>
      <Field label="Endpoint">
        {(control) => <Select {...control} value={asked.path} choices={PATHS} onChange={(path) => set({ path })} />}
      </Field>
      <details className="routing-more">
        <summary>More of the body</summary>
        <Field
          label="Members of the body that conditions look at, as JSON"
          error={isMoreWrong ? 'Give a JSON object, such as {"max_tokens": 400}.' : null}
        >
          {(control) => (
            <Textarea
              {...control}
              placeholder='{"max_tokens": 400}'
              value={asked.more}
              onChange={(event) => set({ more: event.target.value })}
              spellCheck={false}
            />
          )}
        </Field>
      </details>
    </div>
  );
}

const whom = ({ virtual_key, provider }: Explained) => virtual_key ?? provider ?? 'whom the call names';

/** The answer in a sentence. */
export function Serves({ steps }: { readonly steps: readonly Explained[] }) {
  const targets = steps.filter(({ mode }) => mode === 'target');
  const first = targets.filter(({ when }) => when === 'first');
  const later = targets.filter(({ when }) => when === 'later');
  const isRefused = first.some(({ problem }) => problem !== null);
  return (
    <div className={`routing-serves ${isRefused ? 'routing-serves-bad' : ''}`} role="status">
      <Icon name={isRefused ? 'warn' : 'check'} />
      <div>
        {first.map((each, index) => (
          <span key={each.path}>
            {index > 0 && (index === first.length - 1 ? ' or ' : ', ')}
            <strong>{whom(each)}</strong>
            {each.model && (
              <>
                {' '}
                with <code>{each.model}</code>
              </>
            )}
            {each.share < 1 && ` (${Math.round(each.share * 100)} %)`}
          </span>
        ))}{' '}
        would serve this
        {later.length > 0 && (
          <>
            , then <strong>{later.map(whom).join(', ')}</strong> if that fails
          </>
        )}
        .{first.length === 1 && <span className="soft small routing-why">{first[0]!.why}</span>}
      </div>
    </div>
  );
}
