import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { Organisation } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';
import { ForbiddenEditor, type Rule } from './forbidden-editor.tsx';

/** What no call may bring along, in any workspace. */
export function CallRules({
  organisation: { data, error },
}: {
  readonly organisation: { readonly data?: Organisation; readonly error: Error | null };
}) {
  return (
    <Card
      title="What calls may not bring along"
      about="Refused with 403, wherever in a call it stands: in headers, in the body, in a config. Workspaces and keys may forbid more, never less."
    >
      {error && <ErrorNote error={error} />}
      {data ? <Editor forbidden={data.forbidden ?? []} /> : <Skeleton />}
    </Card>
  );
}

function Editor({ forbidden }: { readonly forbidden: readonly string[] }) {
  const [value, setValue] = useState(forbidden);
  const save = useAction(
    () => api.put('/v1/admin/organisation', { body: { forbidden: value.length > 0 ? ([...value] as Rule[]) : null } }),
    { changes: ['/v1/admin/organisation'], done: 'Saved. Calls go by it from now on.', onFault: () => {} },
  );
  const atField = faultAbout(save.error, 'forbidden');
  return (
    <form
      className="stack gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <ForbiddenEditor value={value} onChange={setValue} error={atField} />
      <Stack>
        {save.error && !atField && <ErrorNote error={save.error} />}
        <div>
          <Button type="submit" look="primary" isBusy={save.isPending}>
            Save
          </Button>
        </div>
      </Stack>
    </form>
  );
}
