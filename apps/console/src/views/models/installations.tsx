import type { JSX } from 'preact';
import { getJson } from '../../api/client.js';
import type { Page } from '../../api/admin-responses.js';
import type { InstallationRow } from '../../api/installation-responses.js';
import type { Query } from '../../api/use-query.js';
import { useTask } from '../../api/use-task.js';
import { Badge } from '../../components/badge.js';
import { Failure } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { isOpen, progressPercent, progressText } from './progress-text.js';

type Act = (id: string, action: 'cancel' | 'retry') => void;

/** Lists what was asked for and how far it is. The service says it, so that every browser shows the same. */
export function Installations({ query }: { query: Query<Page<InstallationRow>> }): JSX.Element | null {
  const task = useTask<unknown>();
  const act: Act = (id, action) => {
    task.run(async (signal) => {
      await getJson(`api/admin/v1/model_installations/${encodeURIComponent(id)}/${action}`, { method: 'POST', signal });
      query.reload();
    });
  };
  const rows = query.data?.data ?? [];
  if (query.data === null && query.error !== null) return <Failure error={query.error} retry={query.reload} />;
  if (rows.length === 0) return null;
  return (
    <>
      {task.error !== null && <Failure error={task.error} />}
      <Table
        caption="Installations"
        rows={rows}
        rowKey={({ id }) => id}
        empty="No model was asked for."
        columns={columnsWith(act, task.isBusy)}
      />
    </>
  );
}

function columnsWith(act: Act, isBusy: boolean): Column<InstallationRow>[] {
  return [
    {
      title: 'Model',
      cell: ({ model, reference }) => (
        <>
          {model ?? reference}
          {model !== null && model !== reference && <div class="weak small">{reference}</div>}
        </>
      ),
    },
    { title: 'State', cell: ({ state }) => <Badge state={state} /> },
    { title: 'Progress', cell: (row) => <ProgressCell row={row} /> },
    { title: 'Asked', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: 'Change',
      cell: (row) => <Action row={row} act={act} isBusy={isBusy} />,
    },
  ];
}

function ProgressCell({ row }: { row: InstallationRow }): JSX.Element {
  if (row.error !== null) return <>{row.error.message}</>;
  if (!isOpen(row)) return <>{row.note === null || row.note === '' ? '–' : row.note}</>;
  const percent = progressPercent(row.progress);
  const name = `Progress of ${row.model ?? row.reference}`;
  return (
    <>
      <progress max={100} value={percent ?? undefined} aria-label={name} />{' '}
      <span>
        {progressText(row)}
        {row.attempt > 1 && ` (begun ${row.attempt} times)`}
      </span>
    </>
  );
}

interface ActionProps {
  row: InstallationRow;
  act: Act;
  isBusy: boolean;
}

function Action({ row, act, isBusy }: ActionProps): JSX.Element | null {
  const { id, state, model, reference } = row;
  const name = model ?? reference;
  if (isOpen(row)) {
    return (
      <button type="button" aria-label={`Cancel ${name}`} disabled={isBusy} onClick={() => act(id, 'cancel')}>
        Cancel
      </button>
    );
  }
  if (state === 'installed') return null;
  return (
    <button type="button" aria-label={`Try again: ${name}`} disabled={isBusy} onClick={() => act(id, 'retry')}>
      Try again
    </button>
  );
}
