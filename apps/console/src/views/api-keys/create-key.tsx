import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import type { RequestError } from '../../api/request-error.js';
import { toRequestError } from '../../api/use-query.js';
import { CopyButton } from '../../components/copy-button.js';
import { SelectField, TextField } from '../../components/fields.js';
import { Failure } from '../../components/states.js';
import { type KeyForm, emptyKeyForm, keyRequestOf } from './key-form.js';
import type { CreatedKey } from './key-responses.js';

/** Creates a key and shows it once: nobody can read it again. */
export function CreateKey({ onCreated }: { onCreated: () => void }): JSX.Element {
  const [form, setForm] = useState<KeyForm>(emptyKeyForm);
  const [created, setCreated] = useState<CreatedKey['data'] | null>(null);
  const [error, setError] = useState<RequestError | null>(null);
  const [isBusy, setBusy] = useState(false);

  const create = (): void => {
    setBusy(true);
    setError(null);
    setCreated(null);
    getJson<CreatedKey>('api/v1/api_keys', { method: 'POST', body: keyRequestOf(form) })
      .then(
        ({ data }) => {
          setCreated(data);
          setForm(emptyKeyForm);
          onCreated();
        },
        (failure: unknown) => setError(toRequestError(failure)),
      )
      .finally(() => setBusy(false));
  };

  return (
    <section class="panel" aria-labelledby="create-key">
      <h2 id="create-key">Create a key</h2>
      {created !== null && <NewKey created={created} close={() => setCreated(null)} />}
      {error !== null && <Failure error={error} />}
      <form
        class="form-row"
        onSubmit={(event) => {
          event.preventDefault();
          create();
        }}
      >
        <KeyFields form={form} change={(changes) => setForm({ ...form, ...changes })} />
        <button type="submit" class="primary" disabled={isBusy}>
          Create key
        </button>
      </form>
    </section>
  );
}

function KeyFields({ form, change }: { form: KeyForm; change: (changes: Partial<KeyForm>) => void }): JSX.Element {
  return (
    <>
      <TextField
        label="Description"
        value={form.description}
        onChange={(description) => change({ description })}
        maxLength={64}
        isRequired
      />
      <SelectField
        label="Type"
        value={form.apiKeyType}
        onChange={(value) => change({ apiKeyType: value === 'ADMIN' ? 'ADMIN' : 'INFERENCE' })}
        options={[
          ['INFERENCE', 'Inference: runs models'],
          ['ADMIN', 'Admin: also manages keys and reads billing'],
        ]}
      />
      <TextField
        label="Limit in USD"
        type="number"
        min={0}
        step="any"
        placeholder="No limit"
        value={form.limitUsd}
        onChange={(limitUsd) => change({ limitUsd })}
      />
      <SelectField
        label="Limit applies"
        value={form.limitPeriod}
        onChange={(limitPeriod) => change({ limitPeriod })}
        options={[
          ['EPOCH', 'Per day (UTC)'],
          ['MONTH', 'Per month (UTC)'],
          ['LIFETIME', 'In all'],
        ]}
      />
      <TextField
        label="Expires"
        type="datetime-local"
        value={form.expires}
        onChange={(expires) => change({ expires })}
        hint="Your time zone; empty: never"
      />
    </>
  );
}

function NewKey({ created, close }: { created: CreatedKey['data']; close: () => void }): JSX.Element {
  return (
    <div class="notice notice-success" role="status">
      <p>The key “{created.description}” is shown only here and only now. Copy it before you close this note.</p>
      <p>
        <code class="secret">{created.apiKey}</code>
      </p>
      <CopyButton text={created.apiKey} label="Copy key" />{' '}
      <button type="button" onClick={close}>
        Close
      </button>
    </div>
  );
}
