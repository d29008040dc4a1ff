import { useQuery } from '@tanstack/react-query';
import { send } from '../../api/client.ts';
import { faultOf } from '../../api/fault.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { formatDuration } from '../../design/format.ts';
import { Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Progress } from '../../design/states.tsx';

/** Asks the provider for its models: that takes the credential, and costs nothing. */
async function test({ slug }: VirtualKey): Promise<{ models: readonly string[]; ms: number }> {
  const began = performance.now();
  const response = await send('/v1/models', { headers: { 'x-gateway-virtual-key': slug } });
  if (!response.ok) throw await faultOf(response);
  const { data = [] }: { data?: readonly { id?: unknown }[] } = await response.json();
  return { models: data.map(({ id }) => String(id)), ms: performance.now() - began };
}

export function TestProvider({
  virtualKey,
  isNew = false,
  onClose,
}: {
  readonly virtualKey: VirtualKey;
  readonly isNew?: boolean;
  readonly onClose: () => void;
}) {
  const tried = useQuery({
    queryKey: ['test', virtualKey.slug, virtualKey.last_updated_at],
    queryFn: () => test(virtualKey),
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return (
    <Dialog
      title={isNew ? `${virtualKey.name} is added` : `Test of ${virtualKey.name}`}
      about={
        <>
          Calls name it as <code>@{virtualKey.slug}</code>.
        </>
      }
      isOpen
      onClose={onClose}
      actions={
        <Actions>
          <Button icon="refresh" isBusy={tried.isFetching} onClick={() => void tried.refetch()}>
            Test again
          </Button>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </Actions>
      }
    >
      <Stack>
        {tried.isFetching && <Progress label="The provider is asked" />}
        {!tried.isFetching && tried.error && <ErrorNote error={tried.error} />}
        {!tried.isFetching && tried.data && (
          <Note tone="good">
            {virtualKey.provider} answered in {formatDuration(tried.data.ms)} and took the credential. It has{' '}
            {tried.data.models.length} models
            {tried.data.models.length > 0 && <>, {tried.data.models.slice(0, 5).join(', ')} among them</>}.
          </Note>
        )}
      </Stack>
    </Dialog>
  );
}
