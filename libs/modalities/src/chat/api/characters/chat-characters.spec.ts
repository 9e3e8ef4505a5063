import { describe, expect, it } from 'vitest';
import type { Character } from '#characters';
import { testDouble } from '#test/test-double';
import { ChatCharacters } from './chat-characters.js';

const ada = {
  id: '1',
  systemPrompt: 'You are Ada.',
  greeting: null,
  modelId: 'own',
  documentsModel: null,
} as Character;
const counted: string[] = [];
const characters = new ChatCharacters(
  testDouble({ recall: (slug) => Promise.resolve(slug === 'ada' ? ada : null) }),
  testDouble({ count: (id) => counted.push(id) }),
);
const named = { character_slug: 'ada' };

describe('the character of a chat', () => {
  it.each([
    [{ model: 'default', service_parameters: named }, 'own'],
    [{ service_parameters: named }, 'own'],
    [{ model: 'default:strip_thinking_response=true', service_parameters: named }, 'own:strip_thinking_response=true'],
    [{ model: 'default:character_slug=ada' }, 'own:character_slug=ada'],
    [{ model: 'other:character_slug=ada' }, 'other:character_slug=ada'],
    [{ model: 'other', service_parameters: named }, 'other'],
    [{ model: 'other:character_slug=nobody', service_parameters: named }, 'other:character_slug=nobody'],
  ])('brings its model where the request names the default one: %j', async (wire, modelName) => {
    const found = await characters.of(wire as Parameters<ChatCharacters['of']>[0]);
    expect(found).toMatchObject({ modelName, prompts: { characterPrompt: 'You are Ada.' } });
  });

  it('is absent where none or an unknown one is named', async () => {
    for (const model of ['default', 'default:character_slug=nobody', 'm:character_slug=']) {
      expect(await characters.of({ model })).toBeNull();
    }
  });

  it('does not continue plain texts', async () => {
    const raw = { prompts: [{ text: 'Once' }] } as Parameters<ChatCharacters['of']>[1];
    await expect(characters.of({ model: 'm:character_slug=ada' }, raw)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'model',
    });
  });

  it('counts a use only when told to', async () => {
    const found = await characters.of({ model: 'm', service_parameters: named });
    expect(counted).toEqual([]);
    found?.countUse();
    expect(counted).toEqual(['1']);
  });
});
