import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { useQuery } from '../../api/use-query.js';
import { useTask } from '../../api/use-task.js';
import { ConfirmButton } from '../../components/confirm-button.js';
import { AreaField, SelectField } from '../../components/fields.js';
import { Failure, QueryView } from '../../components/states.js';
import { CharacterDocuments } from './character-documents.js';
import { CharacterFields } from './character-fields.js';
import { characterFormOf, characterRequestOf } from './character-form.js';
import type { AdminCharacter } from './character-responses.js';

interface OperatedCharacterProps {
  slug: string;
  /** Loads what the rest of the page shows again. */
  onChanged: () => void;
  onRemoved: () => void;
}

/** An operator changes a character here: its texts, its documents, a review, or that it is there at all. */
export function OperatedCharacter({ slug, onChanged, onRemoved }: OperatedCharacterProps): JSX.Element {
  const path = `api/admin/v1/characters/${encodeURIComponent(slug)}`;
  const query = useQuery<AdminCharacter>(path);
  const task = useTask<unknown>();
  const remove = (): void => {
    task.run(async (signal) => {
      await getJson(path, { method: 'DELETE', signal });
      onRemoved();
    });
  };
  return (
    <QueryView query={query}>
      {(character) => (
        <>
          <EditCharacter path={path} character={character} onSaved={onChanged} />
          <WriteReview path={path} onWritten={onChanged} />
          {task.error !== null && <Failure error={task.error} />}
          <CharacterDocuments path={path} documents={character.documents} task={task} onChanged={query.reload} />
          <p class="buttons">
            <ConfirmButton
              label="Remove the character"
              description={`Remove the character ${slug}`}
              warning="Its reviews and documents go too."
              isBusy={task.isBusy}
              onConfirm={remove}
            />
          </p>
        </>
      )}
    </QueryView>
  );
}

interface EditCharacterProps {
  path: string;
  character: AdminCharacter;
  onSaved: () => void;
}

function EditCharacter({ path, character, onSaved }: EditCharacterProps): JSX.Element {
  const [form, setForm] = useState(() => characterFormOf(character));
  const task = useTask<unknown>();
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => {
      const saved = await getJson<AdminCharacter>(path, { method: 'POST', body: characterRequestOf(form), signal });
      setForm(characterFormOf(saved));
      onSaved();
      return saved;
    });
  };
  return (
    <details class="panel">
      <summary>Edit</summary>
      {task.error !== null && <Failure error={task.error} />}
      <form class="composer" onSubmit={submit}>
        <CharacterFields form={form} change={(changes) => setForm({ ...form, ...changes })} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={task.isBusy}>
            Save
          </button>
          <span role="status">{task.result !== null && !task.isBusy && task.error === null && 'Saved'}</span>
        </div>
      </form>
    </details>
  );
}

const ratings = ['5', '4', '3', '2', '1'].map((stars): [string, string] => [stars, `${stars} of 5`]);

function WriteReview({ path, onWritten }: { path: string; onWritten: () => void }): JSX.Element {
  const [rating, setRating] = useState('5');
  const [message, setMessage] = useState('');
  const task = useTask<unknown>();
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = message.trim() === '' ? {} : { message: message.trim() };
    task.run(async (signal) => {
      await getJson(`${path}/reviews`, { method: 'POST', body: { rating: Number(rating), ...text }, signal });
      setMessage('');
      onWritten();
    });
  };
  return (
    <details class="panel">
      <summary>Write a review</summary>
      {task.error !== null && <Failure error={task.error} />}
      <form class="composer" onSubmit={submit}>
        <SelectField label="Rating" value={rating} onChange={setRating} options={ratings} />
        <AreaField
          label="Message"
          value={message}
          onChange={setMessage}
          rows={2}
          hint="Replaces an earlier review of your account"
        />
        <div class="buttons">
          <button type="submit" class="primary" disabled={task.isBusy}>
            Review
          </button>
        </div>
      </form>
    </details>
  );
}
