import { describe, expect, it } from 'vitest';
import { characterFormOf, characterRequestOf, emptyCharacterForm } from './character-form.js';
import type { AdminCharacter } from './character-responses.js';

const porter: AdminCharacter = {
  ...{ slug: 'night-porter', name: 'Night porter', description: null, systemPrompt: 'Be brief.', greeting: 'Hello.' },
  ...{ model: 'default', tags: ['hotel', 'night'], author: 'us', adult: false, featured: true, webAccess: false },
  ...{ photoUrl: 'https://example.org/porter.png', shareUrl: null, documents: { model: null, data: [] } },
};

describe('the form that edits a character', () => {
  it('sends back what it does not change', () => {
    const { slug: _slug, description: _description, shareUrl: _shareUrl, documents: _documents, ...kept } = porter;
    expect(characterRequestOf(characterFormOf(porter))).toEqual(kept);
  });

  it('leaves out what is empty, and splits tags', () => {
    const form = { ...emptyCharacterForm, name: ' Guide ', systemPrompt: 'Guide.', tags: ' city, ,walk ' };
    expect(characterRequestOf(form)).toEqual({
      ...{ name: 'Guide', systemPrompt: 'Guide.', model: 'default', tags: ['city', 'walk'] },
      ...{ adult: false, featured: false, webAccess: false },
    });
  });
});
