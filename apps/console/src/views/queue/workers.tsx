import type { JSX } from 'preact';
import { getJson } from '../../api/client.js';
import type { WorkerModel, WorkerRow } from '../../api/operations-responses.js';
import { useQuery } from '../../api/use-query.js';
import { useTask } from '../../api/use-task.js';
import { Badge } from '../../components/badge.js';
import { Empty, Failure, QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { formatBytes, formatCount } from '../../format/numbers.js';
import { formatTime } from '../../format/time.js';

const refreshMs = 5000;

/** The workers: memory of their devices, their models, and why a model is not served. */
export function Workers(): JSX.Element {
  const workers = useQuery<{ data: WorkerRow[] }>('api/admin/v1/workers', { refreshMs });
  return (
    <QueryView query={workers}>
      {({ data }) => (
        <>
          {data.length === 0 && <Empty>No worker is connected. Jobs wait until one is.</Empty>}
          {data.map((worker) => (
            <WorkerPanel key={worker.id} worker={worker} reload={workers.reload} />
          ))}
        </>
      )}
    </QueryView>
  );
}

function WorkerPanel({ worker, reload }: { worker: WorkerRow; reload: () => void }): JSX.Element {
  const task = useTask<unknown>();
  const { id, state, host, pod, version, since, pools, slots, running } = worker;
  const action = state === 'drained' ? 'resume' : 'drain';
  const act = (): void => {
    task.run(async (signal) => {
      await getJson(`api/admin/v1/workers/${encodeURIComponent(id)}/${action}`, { method: 'POST', signal });
      reload();
    });
  };
  return (
    <article class="panel" aria-label={`Worker ${id}`}>
      <h3>
        {id} <Badge state={state} />
      </h3>
      <p>
        {[host, pod, version].filter((text) => text !== null).join(', ')}
        {pools.length > 0 && ` in ${pools.join(', ')}`}, since {formatTime(since)}. {formatCount(running)} of{' '}
        {formatCount(slots)} slots in use.
      </p>
      {worker.devices.map((device) => (
        <DeviceMemory key={device.name} device={device} />
      ))}
      <Table
        caption={`Models of ${id}`}
        rows={worker.models}
        rowKey={(model) => model.id}
        empty="The worker serves no model."
        columns={modelColumns}
      />
      {task.error !== null && <Failure error={task.error} />}
      <p class="buttons">
        <button type="button" disabled={task.isBusy} onClick={act}>
          {action === 'drain' ? 'Drain' : 'Resume'}
        </button>
        <span class="hint">
          {action === 'drain' ? 'A drained worker finishes its jobs and takes no new ones.' : 'It takes jobs again.'}
        </span>
      </p>
    </article>
  );
}

function DeviceMemory({
  device: { name, totalBytes, usedBytes },
}: {
  device: WorkerRow['devices'][number];
}): JSX.Element {
  return (
    <p>
      <label>
        {name}: {formatBytes(usedBytes)} of {formatBytes(totalBytes)}{' '}
        <meter min={0} max={totalBytes} value={usedBytes} />
      </label>
    </p>
  );
}

const modelColumns: Column<WorkerModel>[] = [
  { title: 'Model', cell: ({ id }) => id, sort: ({ id }) => id },
  { title: 'State', cell: ({ state }) => <Badge state={state} />, sort: ({ state }) => state },
  { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
  {
    title: 'Memory',
    cell: ({ memory }) => formatBytes(sumOf(memory)),
    sort: ({ memory }) => sumOf(memory),
    isNumber: true,
  },
  {
    title: 'Running',
    cell: ({ running, slots }) => `${running} of ${slots}`,
    sort: ({ running }) => running,
    isNumber: true,
  },
];

function sumOf(memory: Record<string, number>): number {
  return Object.values(memory).reduce((sum, bytes) => sum + bytes, 0);
}
