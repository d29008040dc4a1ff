import { Badge } from '../../design/badge.tsx';
import { formatDuration } from '../../design/format.ts';
import { JsonText } from '../../design/json-view.tsx';
import { Stack } from '../../design/layout.tsx';
import type { LogDetail } from './entries.ts';

interface Check {
  readonly id?: string;
  readonly name?: string;
  readonly verdict?: boolean;
  readonly data?: unknown;
  readonly log?: unknown;
  readonly error?: { readonly message?: string } | null;
  readonly transformed?: boolean;
  readonly execution_time?: number;
}

export interface Verdict {
  readonly on: 'request' | 'answer';
  readonly id?: string;
  readonly verdict?: boolean | null;
  readonly deny?: boolean;
  readonly async?: boolean;
  readonly skipped?: boolean;
  readonly transformed?: boolean;
  readonly checks?: readonly Check[];
  readonly execution_time?: number;
}

/** What guardrails said of the request and of the answer. */
export const verdictsOf = ({ hook_results }: Pick<LogDetail, 'hook_results'>): readonly Verdict[] => [
  ...((hook_results?.before_request_hooks ?? []) as Verdict[]).map((each) => ({ ...each, on: 'request' as const })),
  ...((hook_results?.after_request_hooks ?? []) as Verdict[]).map((each) => ({ ...each, on: 'answer' as const })),
];

export const Guardrails = ({ verdicts }: { readonly verdicts: readonly Verdict[] }) => (
  <Stack gap={3}>
    {verdicts.map((each, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: verdicts keep their order
      <section key={index} className="verdict">
        <header className="line gap-2">
          <VerdictBadge verdict={each.verdict ?? null} />
          <strong>{each.id}</strong>
          <span className="soft small">
            of the {each.on}
            {each.execution_time !== undefined && `, ${formatDuration(each.execution_time)}`}
          </span>
          {each.deny && each.verdict === false && <Badge tone="bad">ended the call</Badge>}
          {each.transformed && <Badge tone="info">changed the text</Badge>}
          {each.async && <Badge>looked afterwards</Badge>}
          {each.skipped && <Badge>skipped</Badge>}
        </header>
        <ul>
          {(each.checks ?? []).map((check, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: checks keep their order
            <li key={place}>
              <div className="line gap-2">
                <VerdictBadge verdict={check.verdict ?? null} />
                <code>{check.name ?? check.id}</code>
                {check.name && <span className="soft small">{check.id}</span>}
                {check.transformed && <Badge tone="info">changed the text</Badge>}
                {check.execution_time !== undefined && (
                  <span className="soft small">{formatDuration(check.execution_time)}</span>
                )}
              </div>
              {check.error?.message && <p className="logs-error">{check.error.message}</p>}
              {isSaid(check.data) && <JsonText text={asText(check.data)} label="What the check found" />}
              {isSaid(check.log) && <JsonText text={asText(check.log)} label="What the check notes for the log" />}
            </li>
          ))}
        </ul>
      </section>
    ))}
  </Stack>
);

const isSaid = (value: unknown): boolean =>
  value !== null && value !== undefined && JSON.stringify(value) !== '{}' && value !== '';
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

const VerdictBadge = ({ verdict }: { readonly verdict: boolean | null }) =>
  verdict === null ? (
    <Badge dot>did not look</Badge>
  ) : (
    <Badge tone={verdict ? 'good' : 'bad'} dot>
      {verdict ? 'passed' : 'failed'}
    </Badge>
  );
