import type { JSX } from 'preact';
import { AreaField, CheckField, TextField } from '../../components/fields.js';
import type { CharacterForm } from './character-form.js';

interface CharacterFieldsProps {
  form: CharacterForm;
  change: (changes: Partial<CharacterForm>) => void;
}

/** The texts and settings that an operator writes about a character. */
export function CharacterFields({ form, change }: CharacterFieldsProps): JSX.Element {
  const text = (name: 'name' | 'model' | 'tags' | 'author' | 'photoUrl' | 'shareUrl' | 'description') => ({
    value: form[name],
    onChange: (value: string) => change({ [name]: value }),
  });
  return (
    <>
      <div class="form-row">
        <TextField label="Name" {...text('name')} maxLength={100} isRequired />
        <TextField label="Model" {...text('model')} hint="An id, alias or trait" />
        <TextField label="Tags" {...text('tags')} hint="Separated by commas" />
        <TextField label="Author" {...text('author')} maxLength={100} />
        <TextField label="Photo" type="url" {...text('photoUrl')} placeholder="https://" />
        <TextField label="Shared at" type="url" {...text('shareUrl')} placeholder="https://" />
      </div>
      <AreaField label="Description" {...text('description')} rows={2} />
      <AreaField
        label="System prompt"
        value={form.systemPrompt}
        onChange={(systemPrompt) => change({ systemPrompt })}
        rows={6}
        hint="Follows the default system prompt"
      />
      <AreaField label="Greeting" value={form.greeting} onChange={(greeting) => change({ greeting })} rows={2} />
      <div class="form-row">
        <CheckField label="For adults" isChecked={form.adult} onChange={(adult) => change({ adult })} />
        <CheckField label="First in lists" isChecked={form.featured} onChange={(featured) => change({ featured })} />
        <CheckField
          label="Meant for web search"
          isChecked={form.webAccess}
          onChange={(webAccess) => change({ webAccess })}
        />
      </div>
    </>
  );
}
