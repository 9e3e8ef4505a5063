import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import type { InstallableModel, InstallationRow, ModelCatalog } from '../../api/installation-responses.js';
import type { WorkerRow } from '../../api/operations-responses.js';
import { useQuery } from '../../api/use-query.js';
import { useTask } from '../../api/use-task.js';
import { SelectField, TextField } from '../../components/fields.js';
import { Failure, QueryView } from '../../components/states.js';
import { formatBytes } from '../../format/numbers.js';
import {
  emptyInstallForm,
  type InstallForm,
  installRequestOf,
  kindsOf,
  optionText,
  poolingOptions,
  purposeOptions,
  weightOptions,
} from './install-form.js';

const refreshMs = 10_000;

/** Asks for a model: one of the catalog, or whatever a reference names. The service does the rest. */
export function AddModel({ onAdded }: { onAdded: () => void }): JSX.Element {
  const [isShown, setShown] = useState(false);
  const catalog = useQuery<ModelCatalog>(isShown ? 'api/admin/v1/model_catalog' : null, { refreshMs });
  return (
    <details class="panel" onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
      <summary>Add a model</summary>
      <QueryView query={catalog}>
        {(found) => (
          <>
            {found.hint !== null && (
              <p class="notice notice-warning" role="status">
                {found.hint}
              </p>
            )}
            <AddForm catalog={found} onAdded={onAdded} />
          </>
        )}
      </QueryView>
    </details>
  );
}

interface AddFormProps {
  catalog: ModelCatalog;
  onAdded: () => void;
}

function AddForm({ catalog: { data, installers }, onAdded }: AddFormProps): JSX.Element {
  const [form, setForm] = useState<InstallForm>(emptyInstallForm);
  const workers = useQuery<{ data: WorkerRow[] }>('api/admin/v1/workers');
  const pools = [...new Set((workers.data?.data ?? []).flatMap((worker) => worker.pools))].toSorted();
  const pool = form.pool ?? pools[0] ?? '';
  const task = useTask<InstallationRow>();
  const change = (changes: Partial<InstallForm>): void => setForm({ ...form, ...changes });
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => {
      const body = installRequestOf(form, pool);
      const added = await getJson<InstallationRow>('api/admin/v1/model_installations', {
        method: 'POST',
        body,
        signal,
      });
      setForm({ ...emptyInstallForm, kind: form.kind, pool: form.pool });
      onAdded();
      return added;
    });
  };
  const chosen = data.find(({ id }) => id === form.chosen);
  return (
    <>
      {task.error !== null && <Failure error={task.error} />}
      <form class="form-row" onSubmit={submit}>
        <CatalogFields models={data} form={form} change={change} />
        {chosen === undefined && (
          <ReferenceFields form={form} change={change} importFolder={installers[0]?.importFolder} />
        )}
        <SelectField
          label="Serve it in the pool"
          value={pool}
          onChange={(value) => change({ pool: value })}
          options={[...pools.map((name): [string, string] => [name, name]), ['', 'None: place it later']]}
        />
        <button type="submit" class="primary" disabled={task.isBusy || workers.isLoading || installers.length === 0}>
          Add model
        </button>
      </form>
      {chosen !== undefined && <ChosenModel model={chosen} />}
      <p class="weak small">
        {installers.map(({ host, freeBytes }) => `${host} has ${formatBytes(freeBytes)} free. `)}
        What is added runs a prompt before it is registered. Models of the catalog come with a manifest or an estimate
        of their size.
      </p>
    </>
  );
}

interface FormProps {
  form: InstallForm;
  change: (changes: Partial<InstallForm>) => void;
}

function CatalogFields({ models, form, change }: FormProps & { models: readonly InstallableModel[] }): JSX.Element {
  const shown = models.filter(({ kind }) => form.kind === '' || kind === form.kind);
  return (
    <>
      <SelectField
        label="Kind"
        value={form.kind}
        onChange={(kind) => change({ kind, chosen: '' })}
        options={[['', 'Every kind'], ...kindsOf(models).map((kind): [string, string] => [kind, kind])]}
      />
      <SelectField
        label="Model of the catalog"
        value={form.chosen}
        onChange={(chosen) => change({ chosen })}
        options={[
          ['', 'None: a reference of your own'],
          ...shown.map((model): [string, string] => [model.id, optionText(model)]),
        ]}
      />
    </>
  );
}

function ReferenceFields({
  form,
  change,
  importFolder,
}: FormProps & { importFolder: string | undefined }): JSX.Element {
  return (
    <>
      <TextField
        label="Reference"
        value={form.reference}
        onChange={(reference) => change({ reference })}
        placeholder="hf:owner/repository:Q4_K_M"
        maxLength={500}
        isRequired
        hint={
          <>
            <code>hf:owner/repository</code>, <code>npm:package@version</code>, <code>https:</code> address of a .gguf
            file
            {importFolder !== undefined && (
              <>
                , or <code>./name</code> below <code>{importFolder}</code>
              </>
            )}
          </>
        }
      />
      <TextField label="Model id" value={form.id} onChange={(id) => change({ id })} placeholder="From its name" />
      <SelectField
        label="Weights"
        value={form.weights}
        onChange={(weights) => change({ weights })}
        options={weightOptions}
      />
      <SelectField
        label="Purpose"
        value={form.purpose}
        onChange={(purpose) => change({ purpose })}
        options={purposeOptions}
        hint="Of a decoder"
      />
      <SelectField
        label="Pooling"
        value={form.pooling}
        onChange={(pooling) => change({ pooling })}
        options={poolingOptions}
        hint="Of an embedding model"
      />
    </>
  );
}

function ChosenModel({
  model: { about, license, sizeBytes, gated, origin },
}: {
  model: InstallableModel;
}): JSX.Element {
  return (
    <p>
      {about} {formatBytes(sizeBytes)}, {license}
      {origin === 'open' && ', from the hub'}.
      {gated && ' Its license must be accepted on the hub, and HF_TOKEN must belong to whoever accepted it.'}
    </p>
  );
}
