import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ModelRow } from '../../api/operations-responses.js';
import { CheckField, SelectField, TextField } from '../../components/fields.js';
import type { ChangeModel } from './change-model.js';

interface PlaceFormProps {
  models: readonly ModelRow[];
  change: ChangeModel;
  isBusy: boolean;
}

/** Places a model in a pool of workers. */
export function PlaceForm({ models, change, isBusy }: PlaceFormProps): JSX.Element {
  const [chosen, setChosen] = useState('');
  const [pool, setPool] = useState('default');
  const [replicas, setReplicas] = useState('');
  const [isPinned, setPinned] = useState(false);
  const id = models.some((model) => model.id === chosen) ? chosen : (models[0]?.id ?? '');
  const submit = (event: Event): void => {
    event.preventDefault();
    const count = replicas.trim() === '' ? {} : { replicas: Number(replicas) };
    change(id, 'place', { method: 'POST', body: { pool: pool.trim(), pinned: isPinned, ...count } });
  };
  return (
    <details class="panel">
      <summary>Place a model</summary>
      <form class="form-row" onSubmit={submit}>
        <SelectField
          label="Model"
          value={id}
          onChange={setChosen}
          options={models.map((model): [string, string] => [model.id, model.id])}
        />
        <TextField label="Pool" value={pool} onChange={setPool} isRequired />
        <TextField
          label="Replicas"
          type="number"
          min={1}
          placeholder="Every worker that has room"
          value={replicas}
          onChange={setReplicas}
        />
        <CheckField label="Pinned" isChecked={isPinned} onChange={setPinned} />
        <button type="submit" class="primary" disabled={isBusy || id === '' || pool.trim() === ''}>
          Place
        </button>
      </form>
    </details>
  );
}
