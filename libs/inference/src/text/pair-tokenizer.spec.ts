import { fileURLToPath } from 'node:url';
import { Tokenizer } from '@huggingface/tokenizers';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { tinyRerankerFolder, tinyRerankerReference, tinyRerankers } from '#test/tiny-reranker';
import { PairTokenizer } from './pair-tokenizer.js';

describe.each(tinyRerankers)('the pairs of %s', (name) => {
  const folder = tinyRerankerFolder(name);
  const { query, texts, ids } = tinyRerankerReference(name);
  const file = JSON.parse(readFileSync(new URL('tokenizer.json', folder), 'utf8')) as {
    added_tokens: { id: number; content: string }[];
  };
  const special = new Map(file.added_tokens.map(({ id, content }) => [content, id]));
  const unknownId = special.get('<unk>');

  it('have the ids of the reference', async () => {
    const tokenizer = await PairTokenizer.load(fileURLToPath(folder));
    const pairs = texts.map((text) => tokenizer.join(tokenizer.read(query, 512), tokenizer.read(text, 512)).ids);
    expect(pairs.map((pair) => [...pair])).toEqual(ids);
  });

  it('cannot be ended by a document, in any spelling that the tokenizer reads as a special token', async () => {
    const tokenizer = await PairTokenizer.load(fileURLToPath(folder));
    const library = new Tokenizer(file, {});
    for (const [content, id] of special) {
      const spellings = [
        content,
        content.replace('<', '＜').replace('[', '［'),
        `${content[0]}\u200b${content.slice(1)}`,
      ];
      for (const spelling of spellings) {
        const read = tokenizer.read(`the river ${spelling}${spelling} ran`, 512);
        expect(
          read.filter((other) => [...special.values()].includes(other) && other !== unknownId),
          spelling,
        ).toEqual([]);
        expect(read.length).toBeGreaterThan(2);
      }
      // What the library does on its own: the test fails if it stops to read them as special.
      expect(library.encode(`the river ${content}`, { add_special_tokens: false }).ids).toContain(id);
    }
  });
});
