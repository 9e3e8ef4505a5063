import { describe, expect, it } from 'vitest';
import { DocumentFault } from '../document-fault.js';
import { extractPage } from './page.js';

const url = 'https://example.org/folder/page';
const text = 'These words are the content of the page. '.repeat(10);
const read = (html: string | Buffer, charset = '', maxCharacters = 10_000) =>
  extractPage(Buffer.from(html as string), { url, charset }, maxCharacters);
const page = (body: string, head = '') => `<html><head>${head}</head><body><article>${body}</article></body></html>`;

describe('a page', () => {
  it('keeps headings, lists, tables and code', async () => {
    const { markdown } = await read(
      page(`<h2>Title</h2><p>${text}</p><ul><li>one is the first of the numbers</li><li>two is the second of the numbers</li></ul><p>${text}</p>
        <table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><pre><code>x = 1</code></pre>`),
    );
    for (const part of ['## Title', '- one is the first', '| A | B |', '| 1 | 2 |', 'x = 1'])
      expect(markdown).toContain(part);
  });

  it('resolves links against its base, and leaves out those that lead nowhere', async () => {
    const links = ['a', '#top', 'javascript:x', 'mailto:a@b.c', '//other.org/b', 'a', 'https://u:p@c.org/'];
    const html = page(`<p>${text}</p>${links.map((href) => `<a href="${href}">to ${href}</a>`).join(' ')}`);
    expect((await read(html)).links.map((link) => link.url)).toEqual([
      'https://example.org/folder/a',
      url,
      'https://other.org/b',
    ]);
    const based = await read(html.replace('<head>', '<head><base href="https://base.org/x/">'));
    expect(based.links[0]?.url).toBe('https://base.org/x/a');
  });

  it('has no frames, and no links that run scripts', async () => {
    const frames =
      '<iframe src="file:///etc/passwd"></iframe><object data="x"></object><embed src="https://a.example/y">';
    const links =
      '<a href="javascript:alert(1)">one</a> <a href=" java&#10;script:x">two</a> <a href="/good">three</a>';
    const { markdown } = await read(page(`<p>${text}</p>${frames}<p>${links} ${text}</p>`));
    expect(markdown).not.toMatch(/iframe|object|embed|passwd|script/i);
    expect(markdown).toContain('one two [three](https://example.org/good)');
  });

  it('is cut off at the maximum length', async () => {
    expect(await read(page(`<p>${text}</p>`), '', 20)).toMatchObject({
      markdown: 'These words are the ',
      isTruncated: true,
    });
  });

  it.each([
    ['utf-16le', 'utf16le'],
    ['windows-1252', 'latin1'],
  ] as const)('is decoded from %s', async (charset, encoding) => {
    const bytes = Buffer.from(page(`<p>Größe ${text}</p>`), encoding);
    expect((await read(bytes, charset)).markdown).toContain('Größe');
  });

  it.each([
    ['', /is empty/],
    ['<html></html>', /holds no text/],
    ['<div>'.repeat(100_000), /nested too deeply/],
    // Links that are not closed nest in the DOM only.
    [page('<a href=x>a'.repeat(1_000)), /nested too deeply/],
    [Buffer.from([0, 1, 2, 3, 0xff, 0xfe]), /is not text/],
  ])('is refused when it is none: %#', async (html, message) => {
    const error: unknown = await read(html).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DocumentFault);
    expect((error as Error).message).toMatch(message);
  });
});
