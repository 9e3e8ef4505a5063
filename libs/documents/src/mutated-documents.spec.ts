import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mutate } from '#test/mutated-bytes';
import { seededRandom } from '#test/seeded-random';
import { docxFile, pptxFile, zipFile } from '#test/zip-file';
import { DocumentFault } from './document-fault.js';
import { defaultLimits } from './document-limits.js';
import { extractDocument } from './extract-document.js';

function fixture(name: string): Buffer {
  return readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url));
}

/** One document per format; `document-extractor.int-spec.ts` has those of PDF. Stored files let mutations reach the XML. */
const documents: Record<string, Buffer> = {
  docx: docxFile('<w:p><w:r><w:t>one</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl>'),
  pptx: pptxFile(['<p:sld><a:p><a:t>one</a:t></a:p></p:sld>'], '<p:notes/>'),
  xlsx: fixture('sheet.xlsx'),
  xls: fixture('sheet.xls'),
  epub: zipFile([
    { name: 'META-INF/container.xml', content: '<c><rootfile full-path="o.opf"/></c>', stored: true },
    { name: 'o.opf', content: '<p><item id="a" href="a.xhtml"/><itemref idref="a"/></p>', stored: true },
    { name: 'a.xhtml', content: '<h1>One</h1><table><tr><td>x</td></tr></table>', stored: true },
  ]),
  text: Buffer.from('größer, 日本\n'.repeat(20)),
};
const mutationsPerFormat = 300;

describe.each(Object.keys(documents))('a mutated %s file', (format) => {
  it('gives text or says what is wrong with it', async () => {
    const random = seededRandom(14);
    const original = documents[format] ?? Buffer.alloc(0);
    const ends = { text: 0, fault: 0 };
    for (let count = 0; count < mutationsPerFormat; count += 1) {
      const bytes = mutate(original, random);
      const hints = { filename: '', contentType: '' };
      const end: unknown = await extractDocument(bytes, hints, defaultLimits).catch((error: unknown) => error);
      if (end instanceof DocumentFault) ends.fault += 1;
      else {
        expect(end).toMatchObject({ text: expect.stringMatching(/\S/) as string });
        ends.text += 1;
      }
    }
    expect(ends.text + ends.fault).toBe(mutationsPerFormat);
    expect(ends.text).toBeGreaterThan(0);
  }, 60_000);
});
