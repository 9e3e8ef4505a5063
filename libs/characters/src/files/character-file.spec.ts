import { describe, expect, it } from 'vitest';
import { formatCharacterFile, parseCharacterFile } from './character-file.js';
import { bundledCharacterFolder, loadCharacterFolder } from './character-folder.js';

const file = 'ada.yaml';
const least = 'slug: ada\nname: Ada\nsystemPrompt: You are Ada.\n';

function refusalOf(text: string): string {
  try {
    parseCharacterFile(text, file);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

describe('the file of a character', () => {
  it('needs a slug, a name and a prompt', () => {
    expect(parseCharacterFile(least, file)).toEqual({
      ...{ slug: 'ada', name: 'Ada', systemPrompt: 'You are Ada.', modelId: 'default', author: 'unknown', tags: [] },
      ...{ description: null, greeting: null, photoUrl: null, shareUrl: null },
      ...{ adult: false, featured: false, webEnabled: false },
    });
    expect(refusalOf('slug: ada\nname: Ada')).toBe('ada.yaml: systemPrompt must be a string.');
    expect(refusalOf('name: Ada\nsystemPrompt: x')).toContain('slug may hold a-z');
  });

  it('is read back as it was written', () => {
    const full = {
      ...parseCharacterFile(least, file),
      ...{
        description: 'First.\nSecond: #3',
        greeting: 'It\'s me — "hi"',
        tags: ['no', '1', 'yes: x'],
        modelId: 'a/b',
      },
      ...{ adult: true, featured: true, webEnabled: true, photoUrl: 'https://example.com/a.png' },
    };
    expect(parseCharacterFile(formatCharacterFile(full), file)).toEqual(full);
  });

  it.each([
    ['slug', `${least}slug2: x`, 'slug2 is not a field of a character'],
    ['slug', least.replace('ada', 'Ada!'), 'slug may hold a-z'],
    ['name', least.replace('Ada\n', `${'x'.repeat(101)}\n`), 'name must be shorter than or equal to 100 characters'],
    ['prompt', `${least}greeting: "a\\u0000b"`, 'greeting must be text without control characters'],
    ['tags', `${least}tags: [${'x,'.repeat(51)}]`, 'tags must contain no more than 50 elements'],
    ['tags', `${least}tags: ["a\\u0001"]`, 'tags must be text without control characters'],
    ['model', `${least}model: "a=b"`, 'model must be the name of a model'],
    ['photoUrl', `${least}photoUrl: javascript:alert(1)`, 'photoUrl must be a URL'],
    ['adult', `${least}adult: maybe`, 'adult must be a boolean value'],
    ['a list', '- a\n- b', 'must be a mapping of fields'],
    ['no YAML', 'a: [', 'Flow sequence'],
    ['a bomb', bombOf(30), 'Excessive alias count'],
    ['a large file', `${least}# ${'x'.repeat(1_048_576)}`, 'must have at most 1 MB'],
  ])('is refused for a wrong %s', (_what, text, problem) => {
    expect(refusalOf(text)).toContain(`ada.yaml: `);
    expect(refusalOf(text)).toContain(problem);
  });
});

/** Each line refers twice to the one before it. */
function bombOf(lines: number): string {
  const names = Array.from({ length: lines }, (_, line) => `a${line}`);
  return names
    .map((name, line) => `${name}: &${name} ${line === 0 ? '[x]' : `[*a${line - 1}, *a${line - 1}]`}`)
    .join('\n');
}

describe('the characters of the product', () => {
  it('are six, each complete', async () => {
    const characters = await loadCharacterFolder(bundledCharacterFolder());
    expect(characters.map(({ slug }) => slug)).toEqual([
      ...['interview-coach', 'lantern-story', 'pantry-cook', 'patient-tutor', 'plain-language-editor'],
      'shell-companion',
    ]);
    for (const { description, greeting, systemPrompt, tags } of characters) {
      expect(description?.length).toBeGreaterThan(30);
      expect(greeting?.length).toBeGreaterThan(30);
      expect(systemPrompt.length).toBeGreaterThan(400);
      expect(tags.length).toBeGreaterThan(1);
    }
  });
});
