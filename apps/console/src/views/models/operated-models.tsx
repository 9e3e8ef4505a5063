import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Page } from '../../api/admin-responses.js';
import { getJson } from '../../api/client.js';
import type { InstallationRow } from '../../api/installation-responses.js';
import type { ModelRow } from '../../api/operations-responses.js';
import { type Query, useQuery } from '../../api/use-query.js';
import { useTask } from '../../api/use-task.js';
import { Badge } from '../../components/badge.js';
import { ConfirmButton } from '../../components/confirm-button.js';
import { PlaceLink } from '../../components/place-link.js';
import { Failure, QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { formatBytes } from '../../format/numbers.js';
import { AddModel } from './add-model.js';
import type { ChangeModel } from './change-model.js';
import { Installations } from './installations.js';
import { PlaceForm } from './place-form.js';
import { PriceList } from './price-list.js';
import { isOpen } from './progress-text.js';

const refreshMs = 5000;
/** While a model is being installed. */
const followMs = 1000;
const latest = { limit: 20 };

/** The latest installations, asked for more often while one is open. */
function useInstallations(): Query<Page<InstallationRow>> {
  const [isFollowed, setFollowed] = useState(false);
  const path = 'api/admin/v1/model_installations';
  const query = useQuery<Page<InstallationRow>>(path, { query: latest, refreshMs: isFollowed ? followMs : refreshMs });
  const hasOpen = query.data?.data.some(isOpen) ?? false;
  useEffect(() => setFollowed(hasOpen), [hasOpen]);
  return query;
}

/** Every model of the registry: where it is placed, which workers serve it, and why it is not served. */
export function OperatedModels(): JSX.Element {
  const models = useQuery<{ data: ModelRow[] }>('api/admin/v1/models', { refreshMs });
  const installations = useInstallations();
  const task = useTask<unknown>();
  const change: ChangeModel = (id, action, options) => {
    task.run(async (signal) => {
      const path = `api/admin/v1/models/${encodeURIComponent(id)}${action === '' ? '' : `/${action}`}`;
      await getJson(path, { ...options, signal });
      models.reload();
    });
  };
  return (
    <>
      <AddModel onAdded={installations.reload} />
      <Installations query={installations} />
      {task.error !== null && <Failure error={task.error} />}
      <QueryView query={models}>
        {({ data }) => (
          <>
            <PlaceForm models={data} change={change} isBusy={task.isBusy} />
            <Table
              caption="Models of the registry"
              rows={data}
              rowKey={({ id }) => id}
              empty="The registry has no model."
              columns={columnsWith(change, task.isBusy)}
            />
          </>
        )}
      </QueryView>
    </>
  );
}

function columnsWith(change: ChangeModel, isBusy: boolean): Column<ModelRow>[] {
  return [
    {
      title: 'Model',
      cell: ({ id }) => (
        <PlaceLink view="requests" filters={{ model: id }}>
          {id}
        </PlaceLink>
      ),
      sort: ({ id }) => id,
    },
    { title: 'Type', cell: ({ type }) => type, sort: ({ type }) => type },
    { title: 'State', cell: ({ state }) => <Badge state={state} />, sort: ({ state }) => state },
    { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
    {
      title: 'Size',
      cell: ({ sizeBytes }) => formatBytes(sizeBytes),
      sort: ({ sizeBytes }) => sizeBytes,
      isNumber: true,
    },
    { title: 'Pools', cell: ({ placements }) => placements.map(placementText).join(', ') || '–' },
    { title: 'Workers', cell: ({ workers }) => workers.join(', ') || '–' },
    { title: 'Prices in USD', cell: ({ prices, type }) => <PriceList prices={prices} type={type} /> },
    { title: 'Change', cell: (model) => <ModelActions model={model} change={change} isBusy={isBusy} /> },
  ];
}

function placementText({ pool, pinned, replicas }: ModelRow['placements'][number]): string {
  return `${pool}${replicas === null ? '' : ` ×${replicas}`}${pinned ? ' (pinned)' : ''}`;
}

interface ModelActionsProps {
  model: ModelRow;
  change: ChangeModel;
  isBusy: boolean;
}

function ModelActions({ model: { id, state, placements }, change, isBusy }: ModelActionsProps): JSX.Element {
  const isDisabled = state === 'disabled';
  return (
    <span class="buttons">
      <button
        type="button"
        aria-label={isDisabled ? `Bring online: ${id}` : `Take offline: ${id}`}
        disabled={isBusy}
        onClick={() => change(id, 'state', { method: 'POST', body: { enabled: isDisabled } })}
      >
        {isDisabled ? 'Bring online' : 'Take offline'}
      </button>
      {placements.length > 0 && (
        <ConfirmButton
          label="Unplace"
          description={`Unplace ${id}`}
          warning="It leaves every pool."
          isBusy={isBusy}
          onConfirm={() => change(id, 'unplace', { method: 'POST', body: {} })}
        />
      )}
      <ConfirmButton
        label="Remove"
        description={`Remove ${id}`}
        warning="It leaves the registry; its files stay."
        isBusy={isBusy}
        onConfirm={() => change(id, '', { method: 'DELETE' })}
      />
    </span>
  );
}
