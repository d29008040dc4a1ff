import { Button } from '../../design/button.tsx';
import { PageHeader } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useMay } from '../../shell/session.tsx';
import { AssistantList } from './assistant-list.tsx';
import { Conversation } from './conversation.tsx';
import { FileList } from './file-list.tsx';
import { StoreList } from './store-list.tsx';
import { ThreadList } from './thread-list.tsx';

const FILTERS = { tab: 'assistants', open: '', thread: '' };

/** Assistants and what belongs to them; a thread that is opened takes the whole page. */
export default function Assistants() {
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  if (filters.thread)
    return (
      <>
        <PageHeader title="Thread" about={<code>{filters.thread}</code>}>
          <Button icon="left" onClick={() => setFilters({ thread: '', tab: 'threads' })}>
            All threads
          </Button>
        </PageHeader>
        <Conversation key={filters.thread} threadId={filters.thread} />
      </>
    );
  const opening = { open: filters.open, onOpen: (open: string) => setFilters({ open }) };
  const onThread = (thread: string) => setFilters({ thread, open: '' });
  return (
    <>
      <PageHeader
        title="Assistants"
        about="Models with instructions, tools and files of their own, and the conversations that the gateway keeps for them."
      />
      <Tabs
        label="Assistants"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab, open: '' })}
        tabs={[
          {
            value: 'assistants',
            label: 'Assistants',
            content: <AssistantList {...opening} onThread={onThread} />,
          },
          { value: 'threads', label: 'Threads', content: <ThreadList onThread={onThread} /> },
          { value: 'stores', label: 'Vector stores', content: <StoreList {...opening} /> },
          ...(may('files.read') ? [{ value: 'files', label: 'Files', content: <FileList /> }] : []),
        ]}
      />
    </>
  );
}
