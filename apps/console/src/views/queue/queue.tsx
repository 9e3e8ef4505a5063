import type { JSX } from 'preact';
import type { QueueRow } from '../../api/operations-responses.js';
import { useQuery } from '../../api/use-query.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { formatCount } from '../../format/numbers.js';
import { formatDuration } from '../../format/time.js';
import { Workers } from './workers.js';

const refreshMs = 5000;

/** What waits and runs, and the workers that run it. */
export function Queue(): JSX.Element {
  const queue = useQuery<{ data: QueueRow[] }>('api/admin/v1/queue', { refreshMs });
  return (
    <>
      <QueryView query={queue}>
        {({ data }) => (
          <Table
            caption="Jobs by model"
            rows={data}
            rowKey={({ type, model }) => `${type} ${model}`}
            empty="No job waits or runs."
            columns={columns}
          />
        )}
      </QueryView>
      <h2>Workers</h2>
      <Workers />
    </>
  );
}

function count(title: string, read: (row: QueueRow) => number): Column<QueueRow> {
  return { title, cell: (row) => formatCount(read(row)), sort: read, isNumber: true };
}

const columns: Column<QueueRow>[] = [
  {
    title: 'Model',
    cell: ({ model }) => (
      <PlaceLink view="requests" filters={{ model, range: 'today' }}>
        {model}
      </PlaceLink>
    ),
    sort: ({ model }) => model,
  },
  { title: 'Type', cell: ({ type }) => type, sort: ({ type }) => type },
  { title: 'Pools', cell: ({ pools }) => pools.join(', ') || '–' },
  count('Waiting', ({ waiting }) => waiting),
  count('Running', ({ running }) => running),
  {
    title: 'Oldest waits',
    cell: ({ oldestMs }) => formatDuration(oldestMs),
    sort: ({ oldestMs }) => oldestMs,
    isNumber: true,
  },
  count('Retries', ({ retries }) => retries),
  count('Workers that claim them', ({ claimingWorkers }) => claimingWorkers),
];
