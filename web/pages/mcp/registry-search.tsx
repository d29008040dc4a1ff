import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import type { McpRegistryEntry } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { Field, Input } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';

export const isOff = (error: unknown): boolean => error instanceof ApiFault && error.code === 'mcp_registry_off';

/** What the registry of the operator has; each page when it is asked for. */
const useRegistry = (search: string) =>
  useInfiniteQuery({
    queryKey: ['/v1/mcp-registry/servers', search],
    queryFn: ({ pageParam, signal }) =>
      api.get('/v1/mcp-registry/servers', {
        query: { limit: 20, ...(search && { search }), ...(pageParam && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Servers of a registry by their name. Picking one only fills the form in. */
export function RegistrySearch({ onPick }: { readonly onPick: (entry: McpRegistryEntry) => void }) {
  const [text, setText] = useState('');
  const [search, setSearch] = useState('');
  const [picked, setPicked] = useState('');
  const found = useRegistry(search);
  if (isOff(found.error))
    return (
      <Note>
        No registry is named, so none can be searched: the operator names one by <code>GATEWAY_MCP_REGISTRY_URL</code>.
        An entry can be pasted below.
      </Note>
    );
  const entries = found.data?.pages.flatMap(({ data }) => data) ?? [];
  const registry = found.data?.pages[0]?.registry;
  return (
    <Stack gap={2}>
      <div className="mcp-registry-ask">
        <Field label="Search the registry" help={registry ? `${registry} is asked for a part of the name.` : undefined}>
          {(control) => (
            <Input
              {...control}
              type="search"
              maxLength={200}
              placeholder="weather"
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return;
                // Enter looks for it, and does not send the form around it.
                event.preventDefault();
                setSearch(text.trim());
              }}
            />
          )}
        </Field>
        <Button icon="search" isBusy={found.isFetching} onClick={() => setSearch(text.trim())}>
          Search
        </Button>
      </div>
      {found.error && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Skeleton lines={3} />}
      {found.data && entries.length === 0 && (
        <p className="soft">{search ? `Nothing there has “${search}” in its name.` : 'The registry has no servers.'}</p>
      )}
      {entries.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
        <section className="mcp-registry-found" aria-label="Servers of the registry" tabIndex={0}>
          <ul>
            {entries.map((entry, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a registry may name one twice
              <li key={index}>
                <div>
                  <strong>{entry.title || entry.name}</strong> <span className="soft small">{entry.version}</span>
                  <p className="soft small">
                    <code>{entry.name}</code> {entry.description}
                  </p>
                  {entry.problem && <p className="small">{entry.problem}</p>}
                </div>
                {entry.url !== null && (
                  <Button
                    size="small"
                    icon={picked === entry.name ? 'check' : 'plus'}
                    aria-label={`Pick ${entry.title || entry.name}`}
                    onClick={() => {
                      setPicked(entry.name);
                      onPick(entry);
                    }}
                  >
                    Pick
                  </Button>
                )}
              </li>
            ))}
          </ul>
          {found.hasNextPage && (
            <Button size="small" isBusy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
              Show more
            </Button>
          )}
        </section>
      )}
    </Stack>
  );
}
