import { useApi } from '../../api/hooks.ts';
import { PageHeader } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { useFilters } from '../../shell/filters.ts';
import { Apps } from './apps.tsx';
import { CallRules } from './call-rules.tsx';
import { Directory } from './directory.tsx';
import { GuardrailsForAll } from './guardrails-for-all.tsx';
import { Machines } from './machines.tsx';
import { Prices } from './prices.tsx';
import { Programs } from './programs.tsx';

const FILTERS = { tab: 'calls' };

/** What holds in every workspace. */
export default function OrganisationPage() {
  const [filters, setFilters] = useFilters(FILTERS);
  const organisation = useApi('/v1/admin/organisation');
  return (
    <>
      <PageHeader
        title="Organisation"
        about={`What holds in every workspace${organisation.data ? ` of ${organisation.data.name}` : ''}, above what they say themselves.`}
      />
      <Tabs
        label="What is decided for all"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab })}
        tabs={[
          { value: 'calls', label: 'Calls', content: <CallRules organisation={organisation} /> },
          { value: 'guardrails', label: 'Guardrails', content: <GuardrailsForAll /> },
          { value: 'machines', label: 'Machines', content: <Machines /> },
          { value: 'directory', label: 'Directory', content: <Directory /> },
          { value: 'apps', label: 'Applications', content: <Apps /> },
          { value: 'programs', label: 'Programs', content: <Programs /> },
          { value: 'prices', label: 'Prices', content: <Prices /> },
        ]}
      />
    </>
  );
}
