import { describe, expect, it } from 'vitest';
import { documentsOf, emptyDocumentForm } from './document-form.js';

const files = [new File(['a'], 'a.md'), new File(['b'], 'b.pdf')];
const [first = new File([], '')] = files;

describe('the documents of a form', () => {
  it('are its files, of which a single one may be renamed', () => {
    const form = { ...emptyDocumentForm, name: ' rules.md ' };
    expect(documentsOf(form)).toEqual([]);
    expect(documentsOf({ ...form, files }).map(({ name }) => name)).toEqual(['a.md', 'b.pdf']);
    expect(documentsOf({ ...form, files: [first] })).toEqual([{ name: 'rules.md', content: first }]);
    expect(documentsOf({ ...form, name: ' ', files: [first] })).toEqual([{ name: 'a.md', content: first }]);
  });

  it('are a text with a name, and no file that was chosen before', async () => {
    const form = { ...emptyDocumentForm, kind: 'text', files, text: 'The bar closes at one.\n' } as const;
    expect(documentsOf(form)).toEqual([]);
    expect(documentsOf({ ...form, name: 'bar.txt', text: ' ' })).toEqual([]);
    const [document, ...others] = documentsOf({ ...form, name: 'bar.txt' });
    expect([document?.name, await document?.content.text(), others]).toEqual(['bar.txt', form.text, []]);
  });
});
