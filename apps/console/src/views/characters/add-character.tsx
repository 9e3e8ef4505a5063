import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { useTask } from '../../api/use-task.js';
import { TextField } from '../../components/fields.js';
import { Failure } from '../../components/states.js';
import { CharacterFields } from './character-fields.js';
import { characterRequestOf, emptyCharacterForm } from './character-form.js';
import type { Character } from './character-responses.js';

interface AddCharacterProps {
  known: readonly Character[];
  onAdded: () => void;
}

/** Writes a new character. */
export function AddCharacter({ known, onAdded }: AddCharacterProps): JSX.Element {
  const [slug, setSlug] = useState('');
  const [form, setForm] = useState(emptyCharacterForm);
  const task = useTask<unknown>();
  const isTaken = known.some((character) => character.slug === slug.trim());
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => {
      const path = `api/admin/v1/characters/${encodeURIComponent(slug.trim())}`;
      await getJson(path, { method: 'POST', body: characterRequestOf(form), signal });
      setSlug('');
      setForm(emptyCharacterForm);
      onAdded();
    });
  };
  return (
    <details class="panel">
      <summary>Add a character</summary>
      {task.error !== null && <Failure error={task.error} />}
      <form class="composer" onSubmit={submit}>
        <TextField
          label="Slug"
          value={slug}
          onChange={setSlug}
          maxLength={64}
          isRequired
          hint={isTaken ? 'There is a character of this name already.' : 'Its name in requests: a-z, 0-9 and -'}
        />
        <CharacterFields form={form} change={(changes) => setForm({ ...form, ...changes })} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={task.isBusy || isTaken || slug.trim() === ''}>
            Add character
          </button>
        </div>
      </form>
    </details>
  );
}
