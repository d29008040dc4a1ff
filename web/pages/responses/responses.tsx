import { Button } from '../../design/button.tsx';
import { PageHeader } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { useFilters } from '../../shell/filters.ts';
import { ContainerList } from './container-list.tsx';
import { ResponseList } from './response-list.tsx';
import { ResponseView } from './response-view.tsx';

const FILTERS = { tab: 'responses', open: '', response: '' };

/** Responses that the gateway keeps and makes, and the containers in which their code runs. */
export default function Responses() {
  const [filters, setFilters] = useFilters(FILTERS);
  const onResponse = (response: string) => setFilters({ response, open: '' });
  if (filters.response)
    return (
      <>
        <PageHeader title="Response" about={<code>{filters.response}</code>}>
          <Button icon="left" onClick={() => setFilters({ response: '', tab: 'responses' })}>
            All responses
          </Button>
        </PageHeader>
        <ResponseView
          key={filters.response}
          id={filters.response}
          onResponse={onResponse}
          onContainer={(open) => setFilters({ response: '', tab: 'containers', open })}
          onGone={() => setFilters({ response: '', tab: 'responses' })}
        />
      </>
    );
  return (
    <>
      <PageHeader
        title="Responses"
        about="What the Responses API made and the gateway keeps: in the background or not, with the containers of its code."
      />
      <Tabs
        label="Responses"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab, open: '' })}
        tabs={[
          { value: 'responses', label: 'Responses', content: <ResponseList onResponse={onResponse} /> },
          {
            value: 'containers',
            label: 'Containers',
            content: <ContainerList open={filters.open} onOpen={(open) => setFilters({ open })} />,
          },
        ]}
      />
    </>
  );
}
