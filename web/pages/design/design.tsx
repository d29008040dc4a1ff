import { useMemo, useState } from 'react';
import { ApiFault } from '../../api/fault.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { CodeBlock, SecretOnce } from '../../design/copy.tsx';
import { ConfirmByName, Dialog, SidePanel } from '../../design/dialog.tsx';
import { Editor } from '../../design/editor/editor.tsx';
import { Checkbox, Field, Input, Segmented, Select, Switch, Textarea } from '../../design/field.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { Fields, type FormValue } from '../../design/form.tsx';
import { formatMoney, formatNumber } from '../../design/format.ts';
import { Card, Grid, KeyValue, PageHeader, Row, Stack } from '../../design/layout.tsx';
import { Menu, Tabs, Tooltip } from '../../design/menu.tsx';
import { BarList, Delta, Stat } from '../../design/sparkline.tsx';
import { EmptyState, ErrorNote, Note, Progress, Skeleton } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { TimeChart } from '../../design/time-chart.tsx';
import { toast } from '../../design/toast.tsx';
import { RangePicker } from '../../shell/range-picker.tsx';

const MODELS = [
  { name: 'gpt-4o', calls: 12_830, cost: 41.2 },
  { name: 'claude-sonnet-4', calls: 9_120, cost: 63.9 },
  { name: 'gemini-2.5-flash', calls: 22_410, cost: 7.4 },
];
const COLUMNS: readonly Column<(typeof MODELS)[number]>[] = [
  { id: 'name', header: 'Model', sort: (row) => row.name, cell: (row) => row.name },
  { id: 'calls', header: 'Calls', align: 'end', sort: (row) => row.calls, cell: (row) => formatNumber(row.calls) },
  { id: 'cost', header: 'Cost', align: 'end', sort: (row) => row.cost, cell: (row) => formatMoney(row.cost) },
];
const FAULT = new ApiFault('The database does not answer.', { status: 503, code: 'store_unavailable' });
const HOURS = Array.from({ length: 48 }, (_, hour) => 1_790_000_000_000 + hour * 3_600_000);
const SPAN = { from: HOURS[0]!, until: HOURS[47]! + 3_600_000 };
const wave = (size: number, shift: number) =>
  HOURS.map((_, hour) => Math.round(size * (1.2 + Math.sin((hour + shift) / 4) + Math.sin(hour * 1.7) / 6)));
const CHART = [
  { label: 'Answered', values: wave(420, 0) },
  { label: 'From cache', values: wave(120, 5) },
  { label: 'Failed', values: wave(18, 9), color: '--bad-solid' },
  { label: 'Before', values: wave(460, 2), color: '--series-8', isFaint: true },
];
const ONE_POINT = [{ label: 'p50', values: HOURS.map((_, hour) => (hour === 30 ? 420 : null)) }];

/** Every component of the console, on one page. */
export default function Design() {
  const [isDialog, setDialog] = useState(false);
  const [isSure, setSure] = useState(false);
  const [isPanel, setPanel] = useState(false);
  const [text, setText] = useState('');
  const [isOn, setOn] = useState(true);
  const [unit, setUnit] = useState('day');
  const [code, setCode] = useState(
    '{\n  "strategy": { "mode": "fallback" },\n  "targets": [{ "virtual_key": "openai" }]\n}',
  );
  const [form, setForm] = useState<FormValue>({});
  const units = useMemo(() => ['hour', 'day', 'week'].map((value) => ({ value, label: value })), []);
  return (
    <>
      <PageHeader title="Design" about="Every component of the console, as pages use them.">
        <Button onClick={() => toast({ title: 'Saved.', tone: 'good' })}>Toast</Button>
        <Button look="primary" icon="plus" onClick={() => setDialog(true)}>
          Main action
        </Button>
      </PageHeader>
      <Stack>
        <Grid least={220}>
          <Stat
            label="Requests"
            value={formatNumber(44_360)}
            delta={<Delta now={44_360} before={39_600} better="more" />}
            about="39,600 before"
            values={wave(40, 3)}
          />
          <Stat label="Spend" value={formatMoney(112.5)} about="of $500 this month" values={wave(9, 1)} />
          <Stat label="Failed" value="0.4 %" about="mostly upstream" values={wave(3, 7)} />
        </Grid>
        <Card title="Time chart" actions={<RangePicker />}>
          <TimeChart
            label="Requests over time"
            {...{ times: HOURS, span: SPAN, series: CHART, format: formatNumber }}
            step={3_600_000}
            onZoom={() => {}}
            onOpen={() => {}}
          />
        </Card>
        <Card title="Time chart of one point">
          <TimeChart
            label="One point over time"
            look="lines"
            {...{ times: HOURS, span: SPAN, series: ONE_POINT, format: formatNumber, height: 120 }}
            step={3_600_000}
          />
        </Card>
        <Grid least={380}>
          <Card title="Bars">
            <BarList
              label="Models by calls"
              bars={MODELS.map(({ name, calls, cost }) => ({
                ...{ id: name, label: name, value: calls, text: formatNumber(calls), more: formatMoney(cost) },
                onOpen: () => {},
              }))}
            />
          </Card>
          <Card title="Table" isFlush>
            <Table
              label="Models"
              rows={MODELS}
              columns={COLUMNS}
              rowKey={(row) => row.name}
              onOpen={() => setPanel(true)}
            />
          </Card>
        </Grid>
        <Card title="Buttons and words">
          <Stack>
            <Row>
              <Button look="primary">Primary</Button>
              <Button>Plain</Button>
              <Button look="quiet">Quiet</Button>
              <Button look="danger" onClick={() => setSure(true)}>
                Delete…
              </Button>
              <Button isBusy>Busy</Button>
              <Button disabled>Disabled</Button>
              <Tooltip text="A word about it">
                <IconButton icon="info" label="About" />
              </Tooltip>
              <Menu
                trigger={<IconButton icon="more" label="More" />}
                items={[
                  { label: 'Edit', icon: 'edit', onSelect: () => {} },
                  null,
                  { label: 'Delete', icon: 'trash', isDanger: true, onSelect: () => setSure(true) },
                ]}
              />
            </Row>
            <Row>
              <Badge>plain</Badge>
              <Badge tone="good" dot>
                active
              </Badge>
              <Badge tone="warn" dot>
                near its limit
              </Badge>
              <Badge tone="bad" dot>
                failed
              </Badge>
              <Badge tone="info">info</Badge>
              <Badge tone="accent">new</Badge>
              <kbd>⌘</kbd> <kbd>K</kbd>
            </Row>
          </Stack>
        </Card>
        <Grid least={380}>
          <Card title="Fields">
            <Stack>
              <FilterInput label="Filter" value={text} onChange={setText} />
              <Field label="Name" help="As people read it.">
                {(control) => <Input {...control} placeholder="checkout-service" />}
              </Field>
              <Field label="Email" error="Give an email address.">
                {(control) => <Input {...control} defaultValue="olga" />}
              </Field>
              <Field label="Each" isOptional>
                {(control) => <Select {...control} value={unit} choices={units} onChange={setUnit} />}
              </Field>
              <Segmented label="Each" value={unit} choices={units} onChange={setUnit} />
              <Field label="Note">{(control) => <Textarea {...control} />}</Field>
              <Checkbox checked={isOn} onChange={setOn} help="It can be taken back.">
                Keep a copy
              </Checkbox>
              <Switch checked={isOn} onChange={setOn}>
                In force
              </Switch>
            </Stack>
          </Card>
          <Card title="Fields from data">
            <Stack>
              <Fields
                value={form}
                onChange={setForm}
                fields={[
                  { name: 'region', label: 'Region', kind: 'text', isRequired: true, placeholder: 'eu-central-1' },
                  { name: 'key', label: 'Key', kind: 'secret', help: 'Kept sealed.' },
                  { name: 'strict', label: 'Strict', kind: 'switch' },
                ]}
              />
              <KeyValue
                rows={[
                  ['Model', 'gpt-4o'],
                  ['Cost', formatMoney(0.00421)],
                  ['Trace', <code key="trace">01a1e740c051</code>],
                ]}
              />
              <Progress label="Half done" value={5} most={10} />
              <Progress label="Under way" />
              <Progress label="Used up" value={10} most={10} tone="bad" />
            </Stack>
          </Card>
        </Grid>
        <Card title="JSON">
          <Editor label="Config" value={code} onChange={setCode} height="180px" />
        </Card>
        <Grid least={380}>
          <Card title="Messages">
            <Stack>
              <Note>Something to know.</Note>
              <Note tone="good">It worked.</Note>
              <Note tone="warn">Look at this first.</Note>
              <ErrorNote error={FAULT} onRetry={() => {}} />
              <Skeleton />
            </Stack>
          </Card>
          <Card title="Code and secrets">
            <Stack>
              <CodeBlock title="Shell" code={'curl $GATEWAY/v1/models -H "x-gateway-api-key: $KEY"'} />
              <SecretOnce secret="gw-0123456789abcdef" name="the key" />
            </Stack>
          </Card>
        </Grid>
        <Card>
          <Tabs
            label="Parts"
            tabs={[
              {
                value: 'one',
                label: 'Empty',
                content: <EmptyState title="Nothing yet">Say what to do first.</EmptyState>,
              },
              { value: 'two', label: 'Other', content: <p>Another part.</p> },
            ]}
          />
        </Card>
      </Stack>
      <Dialog title="A dialog" about="With a sentence about it." isOpen={isDialog} onClose={() => setDialog(false)}>
        <p>And its content.</p>
      </Dialog>
      <SidePanel title="Details" isOpen={isPanel} onClose={() => setPanel(false)}>
        <p>Beside the list.</p>
      </SidePanel>
      <ConfirmByName
        title="Delete this"
        name="checkout"
        isOpen={isSure}
        onClose={() => setSure(false)}
        onConfirm={() => setSure(false)}
      >
        Its calls are refused from that moment on.
      </ConfirmByName>
    </>
  );
}
