import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault, faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { MachineTokens } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { ConfirmByName, FormDialog } from '../../design/dialog.tsx';
import { Field, Input } from '../../design/field.tsx';
import { Card, KeyValue } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../design/states.tsx';
import { useMay } from '../../shell/session.tsx';

const PATH = '/v1/admin/organisation/machine-tokens';

/** Whose tokens let machines in, in place of a key. Owners decide it. */
export function Machines() {
  const may = useMay();
  const [doing, setDoing] = useState<'set' | 'remove' | null>(null);
  const found = useApi(PATH);
  const isNone = found.error instanceof ApiFault && found.error.code === 'machine_tokens_not_configured';
  const mayChange = may('owners.manage');
  const rules = isNone ? null : found.data;
  return (
    <Card
      title="Machines that come with tokens"
      about="A program may bring a signed token (JWT, RS256) of your identity provider in place of a key of the gateway."
      actions={
        rules && mayChange ? (
          <Actions>
            <Button icon="edit" onClick={() => setDoing('set')}>
              Change
            </Button>
            <Button icon="trash" onClick={() => setDoing('remove')}>
              Let no machine in
            </Button>
          </Actions>
        ) : undefined
      }
    >
      {found.error && !isNone && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Skeleton />}
      {isNone && (
        <EmptyState
          icon="key"
          title="No token lets a machine in"
          action={
            mayChange && (
              <Button look="primary" icon="plus" onClick={() => setDoing('set')}>
                Trust an issuer
              </Button>
            )
          }
        >
          Name the keys of your identity provider, and its tokens say who a program is and what it may do.
        </EmptyState>
      )}
      {rules && (
        <KeyValue
          rows={[
            ['Keys', rules.jwks_uri ?? `${rules.jwks?.keys.length ?? 0} given by hand`],
            ['Issuer', rules.issuer ?? 'any'],
            ['Audience', rules.audience ?? 'any'],
            ['Clocks may differ by', `${rules.clock_tolerance ?? 5} seconds`],
          ]}
        />
      )}
      {doing === 'set' && <SetIssuer rules={rules ?? null} onClose={() => setDoing(null)} />}
      {doing === 'remove' && rules && <LetNoneIn rules={rules} onClose={() => setDoing(null)} />}
    </Card>
  );
}

function SetIssuer({ rules, onClose }: { readonly rules: MachineTokens | null; readonly onClose: () => void }) {
  const [uri, setUri] = useState(rules?.jwks_uri ?? '');
  const [issuer, setIssuer] = useState(rules?.issuer ?? '');
  const [audience, setAudience] = useState(rules?.audience ?? '');
  const save = useAction(
    () =>
      api.put(PATH, {
        body: {
          // Keys that were given by hand stay, unless an address takes their place.
          ...(uri || !rules?.jwks ? { jwks_uri: uri } : { jwks: rules.jwks }),
          ...(issuer && { issuer }),
          ...(audience && { audience }),
          ...(rules?.clock_tolerance !== undefined && { clock_tolerance: rules.clock_tolerance }),
        },
      }),
    { changes: [PATH], done: 'Saved. Its tokens let machines in.', onDone: onClose, onFault: () => {} },
  );
  const fault = (param: string) => faultAbout(save.error, param);
  return (
    <FormDialog
      title="Trust an issuer of tokens"
      about="Whoever holds its private keys can act here: in any workspace, with all that a token says."
      submit="Save"
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Address of its keys" help="Its key set (JWKS)." error={fault('jwks_uri')}>
        {(control) => (
          <Input
            {...control}
            type="url"
            required={!rules?.jwks}
            placeholder="https://login.example.com/keys"
            value={uri}
            onChange={(event) => setUri(event.target.value)}
          />
        )}
      </Field>
      <Field label="Issuer" isOptional help="What iss in a token must be." error={fault('issuer')}>
        {(control) => <Input {...control} value={issuer} onChange={(event) => setIssuer(event.target.value)} />}
      </Field>
      <Field label="Audience" isOptional help="What aud in a token must hold." error={fault('audience')}>
        {(control) => <Input {...control} value={audience} onChange={(event) => setAudience(event.target.value)} />}
      </Field>
    </FormDialog>
  );
}

function LetNoneIn({ rules, onClose }: { readonly rules: MachineTokens; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete(PATH), {
    changes: [PATH],
    done: 'No token lets a machine in any more.',
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Let no machine in"
      name={rules.issuer ?? 'machines'}
      action="Let none in"
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Every program that comes with a token is refused from that moment on, and what they have begun stops. Keys of the
      gateway go on working.
    </ConfirmByName>
  );
}
