import { useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { PriceList } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { ConfirmByName, FormDialog } from '../../design/dialog.tsx';
import { Field, Input } from '../../design/field.tsx';
import { formatNumber, formatTime } from '../../design/format.ts';
import { Card, KeyValue } from '../../design/layout.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';

const PATH = '/v1/admin/prices';

/** What calls are priced by: the built-in list, or one that was taken over for all nodes. */
export function Prices() {
  const [doing, setDoing] = useState<'sync' | 'remove' | null>(null);
  const found = useApi(PATH);
  const synced = found.data?.synced;
  return (
    <Card
      title="The list of prices"
      about="Calls are priced by it as they end. Prices of a virtual key, or of the operator's own file, stand above it."
      actions={
        <Actions>
          <Button icon="refresh" onClick={() => setDoing('sync')}>
            Take over a list
          </Button>
          {synced && (
            <Button icon="trash" onClick={() => setDoing('remove')}>
              Do without it
            </Button>
          )}
        </Actions>
      }
    >
      {found.error && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Skeleton />}
      {found.data && !synced && <p>The list that came with this version of the gateway is in force.</p>}
      {synced && (
        <KeyValue
          rows={[
            ['From', synced.source],
            ['Of', synced.as_of ?? 'a day that it does not say'],
            ['Models', formatNumber(synced.models)],
            ['Taken over', formatTime(synced.synced_at)],
            ['SHA-256', <code key="hash">{synced.sha256}</code>],
          ]}
        />
      )}
      {doing === 'sync' && <TakeOver onClose={() => setDoing(null)} />}
      {doing === 'remove' && synced && <DoWithout list={synced} onClose={() => setDoing(null)} />}
    </Card>
  );
}

const hex = (bytes: ArrayBuffer) =>
  [...new Uint8Array(bytes)].map((each) => each.toString(16).padStart(2, '0')).join('');

/** A file from this computer, or an address that the gateway fetches; either way the list must be the one that was meant. */
function TakeOver({ onClose }: { readonly onClose: () => void }) {
  const [address, setAddress] = useState('');
  const [typedSum, setTypedSum] = useState<string | null>(null);
  const [file, setFile] = useState<{ name: string; text: string; sha256: string | null } | null>(null);
  const latest = useRef<File>(undefined);
  // What people give is never put aside for what was counted.
  const sum = typedSum ?? file?.sha256 ?? '';
  const sync = useAction(
    () =>
      api.post('/v1/admin/prices/sync', {
        body: file ? { source: file.name, content: file.text, sha256: sum } : { source: address, sha256: sum },
      }),
    {
      changes: [PATH, '/v1/models'],
      done: 'The list is in force on every node.',
      onDone: onClose,
      onFault: () => {},
    },
  );
  const fault = (param: string) => faultAbout(sync.error, param);
  const read = async (chosen: File | undefined) => {
    latest.current = chosen;
    if (!chosen) return setFile(null);
    const bytes = await chosen.arrayBuffer();
    // Pages that came over plain http from another machine cannot count it; then people give it.
    const sha256 = crypto.subtle ? hex(await crypto.subtle.digest('SHA-256', bytes)) : null;
    if (latest.current === chosen) setFile({ name: chosen.name, text: new TextDecoder().decode(bytes), sha256 });
  };
  return (
    <FormDialog
      title="Take over a list of prices"
      about="It is checked as a whole, and nothing changes if anything in it is wrong."
      submit="Take it over"
      isOpen
      onClose={onClose}
      isBusy={sync.isPending}
      fault={sync.error}
      onSubmit={() => sync.mutate()}
    >
      <Field label="File" isOptional error={fault('content')}>
        {(control) => (
          <Input
            {...control}
            type="file"
            accept="application/json,.json"
            onChange={(event) => void read(event.target.files?.[0])}
          />
        )}
      </Field>
      {!file && (
        <Field label="Or its address" isOptional error={fault('source')}>
          {(control) => (
            <Input
              {...control}
              type="url"
              placeholder="https://example.com/prices.json"
              value={address}
              onChange={(event) => setAddress(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label="SHA-256"
        help="As whoever published the list tells it: the list must be the one that was meant."
        error={fault('sha256')}
      >
        {(control) => (
          <Input
            {...control}
            required
            spellCheck={false}
            placeholder="64 hexadecimal digits"
            value={sum}
            onChange={(event) => setTypedSum(event.target.value || null)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function DoWithout({ list, onClose }: { readonly list: PriceList; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete('/v1/admin/prices'), {
    changes: [PATH],
    done: 'The built-in list is in force.',
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Do without the synced list"
      name={list.source}
      action="Do without it"
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      The built-in list is in force again, on every node. Models that only the synced list prices have no price then:
      budgets in dollars refuse their calls. What was counted before stays.
    </ConfirmByName>
  );
}
