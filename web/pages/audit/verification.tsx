import { useEffect, useRef, useState } from 'react';
import { send } from '../../api/client.ts';
import { faultOf } from '../../api/fault.ts';
import { useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { formatNumber } from '../../design/format.ts';
import { Popover } from '../../design/menu.tsx';
import { messageOf, Note, Progress } from '../../design/states.tsx';
import { useMay } from '../../shell/session.tsx';

interface Step {
  readonly status: 'running' | 'whole' | 'broken';
  readonly records: number;
  readonly total: number;
  readonly unsealed: number;
  readonly broken: { readonly record: string | null; readonly why: string } | null;
  readonly restarts: readonly string[];
}

/** A log of at most so many records is proved as soon as the page is opened; a longer one when asked. */
const PROVED_AT_ONCE = 20_000;

async function* stepsOf(signal: AbortSignal): AsyncGenerator<Step> {
  const answer = await send('/v1/audit-logs/verification', { signal });
  if (!answer.ok) throw await faultOf(answer);
  let rest = '';
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as Step;
  }
}

function useVerification() {
  const [step, setStep] = useState<Step | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);
  const begin = async () => {
    ending.current?.abort();
    const mine = new AbortController();
    ending.current = mine;
    setFault(null);
    setStep({ status: 'running', records: 0, total: 0, unsealed: 0, broken: null, restarts: [] });
    try {
      for await (const next of stepsOf(mine.signal)) setStep(next);
    } catch (error) {
      if (mine.signal.aborted) return;
      setStep(null);
      setFault(error);
    }
  };
  return { step, fault, begin };
}

/** Says whether all records are as they were written. */
export function ChainBadge({ organisation }: { readonly organisation: string | null }) {
  const may = useMay();
  const isAllowed = may('audit_logs.list', 'organisation.manage');
  const health = useApi('/health');
  const doubt = health.data?.degraded.find(({ part }) => part === 'audit-seal') ?? null;
  const count = useApi(
    '/v1/audit-logs',
    {
      query: {
        start_time: '1970-01-01T00:00:00Z',
        end_time: '9999-01-01T00:00:00Z',
        organisation_id: organisation ?? '',
        page_size: 0,
      },
    },
    { enabled: isAllowed && organisation !== null },
  );
  const { step, fault, begin } = useVerification();
  const total = count.data?.total;
  const start = useRef(begin);
  start.current = begin;
  const isShort = total !== undefined && total <= PROVED_AT_ONCE;
  useEffect(() => {
    if (isShort) void start.current();
  }, [isShort]);
  if (!isAllowed) return doubt ? <Badge tone="bad">in doubt</Badge> : null;
  const again = (
    <Button size="small" icon="refresh" onClick={() => void begin()}>
      Verify again
    </Button>
  );
  if (fault)
    return (
      <div className="audit-chain">
        <Note tone="warn">The chain could not be verified: {messageOf(fault)}</Note>
        {again}
      </div>
    );
  if (!step)
    return (
      <Button icon="shield" onClick={() => void begin()}>
        Verify the chain{total !== undefined && ` of ${formatNumber(total)} records`}
      </Button>
    );
  if (step.status === 'running')
    return (
      <div className="audit-chain" aria-live="polite">
        <span className="small soft">
          Verifying {step.total > 0 && `${formatNumber(step.records)} of ${formatNumber(step.total)}`}
        </span>
        <Progress label="Verifying the chain" value={step.total > 0 ? step.records : undefined} most={step.total} />
      </div>
    );
  const isWhole = step.status === 'whole' && doubt === null;
  return (
    <Popover
      label="Whether the log is whole"
      trigger={
        <button type="button" className={`audit-badge audit-badge-${isWhole ? 'good' : 'bad'}`}>
          <Badge tone={isWhole ? 'good' : 'bad'} dot>
            {isWhole ? `whole: ${formatNumber(step.records)} records verified` : 'the chain does not hold'}
          </Badge>
        </button>
      }
    >
      <div className="stack gap-3 audit-found">
        {isWhole ? (
          <p>Every record is as it was written; none was removed, added or moved.</p>
        ) : (
          <>
            <Note tone="bad">
              {step.broken
                ? `${step.broken.record ? `Record ${step.broken.record}` : 'The end'}: ${step.broken.why}.`
                : doubt?.effect}
            </Note>
            <p className="soft">
              {formatNumber(step.records)} records hold before that. Restore the missing ones from a backup, or say on
              purpose that they are lost: see the guide of the audit log.
            </p>
          </>
        )}
        {step.unsealed > 0 && <p className="soft">{formatNumber(step.unsealed)} more wait to be sealed.</p>}
        {step.restarts.length > 0 && (
          <Note>An operator went on without lost records {step.restarts.length} times; the log says why.</Note>
        )}
        {again}
      </div>
    </Popover>
  );
}
