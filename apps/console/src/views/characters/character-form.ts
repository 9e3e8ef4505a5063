import type { AdminCharacter } from './character-responses.js';

/** The fields of the form that edits a character: texts, as typed. */
export interface CharacterForm {
  name: string;
  description: string;
  systemPrompt: string;
  greeting: string;
  model: string;
  /** Separated by commas. */
  tags: string;
  author: string;
  adult: boolean;
  featured: boolean;
  webAccess: boolean;
  photoUrl: string;
  shareUrl: string;
}

export const emptyCharacterForm: CharacterForm = {
  ...{ name: '', description: '', systemPrompt: '', greeting: '', model: 'default', tags: '', author: '' },
  ...{ adult: false, featured: false, webAccess: false, photoUrl: '', shareUrl: '' },
};

export function characterFormOf(character: AdminCharacter): CharacterForm {
  const { name, description, systemPrompt, greeting, model, tags, author, photoUrl, shareUrl } = character;
  const { adult, featured, webAccess } = character;
  return {
    ...{ name, description: description ?? '', systemPrompt, greeting: greeting ?? '', model, tags: tags.join(', ') },
    ...{ author, adult, featured, webAccess, photoUrl: photoUrl ?? '', shareUrl: shareUrl ?? '' },
  };
}

/** The body of `POST characters/{slug}`. Fields that are empty are left out, which empties them. */
export function characterRequestOf({ tags, adult, featured, webAccess, ...texts }: CharacterForm) {
  const filled = Object.entries(texts).flatMap(([name, text]): [string, string][] =>
    text.trim() === '' ? [] : [[name, text.trim()]],
  );
  const words = tags.split(',').map((tag) => tag.trim());
  return { ...Object.fromEntries(filled), tags: words.filter((tag) => tag !== ''), adult, featured, webAccess };
}
