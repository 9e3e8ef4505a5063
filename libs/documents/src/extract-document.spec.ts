import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pdfFile } from '#test/pdf-file';
import { docxFile, pptxFile, zipFile } from '#test/zip-file';
import { DocumentFault } from './document-fault.js';
import { defaultLimits } from './document-limits.js';
import { extractDocument } from './extract-document.js';

/** `sheet.xls` by xlwt, `sheet.xlsx` by openpyxl, `book.epub` by EbookLib, the PDFs by ReportLab. */
function fixture(name: string): Buffer {
  return readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url));
}

async function textOf(bytes: Buffer, filename = '', limits = defaultLimits): Promise<string> {
  return (await extractDocument(bytes, { filename, contentType: '' }, limits)).text;
}

async function faultOf(bytes: Buffer, filename = '', limits = defaultLimits): Promise<string> {
  const error: unknown = await textOf(bytes, filename, limits).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(DocumentFault);
  return (error as DocumentFault).message;
}

const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
const cell = (text: string): string => `<w:tc>${paragraph(text)}</w:tc>`;

describe('extractDocument', () => {
  it('reads the pages of a PDF', async () => {
    expect(await textOf(fixture('report.pdf'))).toBe('Hello kumquat report\nSecond line\n\nPage two');
  });

  it('reads a PDF whose scripts nothing runs', async () => {
    const action = '/OpenAction << /S /JavaScript /JS (throw new Error\\(1\\)) >>';
    expect(await textOf(pdfFile(['one', 'two'], action))).toBe('one\n\ntwo');
  });

  it('reads headings, lists, tables and footnotes of DOCX, and no deleted text', async () => {
    const heading = '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Part &amp; whole</w:t></w:r></w:p>';
    const item = '<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>';
    const table = `<w:tbl><w:tr>${cell('a')}${cell('b')}</w:tr><w:tr><w:tc>${paragraph('c')}${paragraph('d')}</w:tc></w:tr></w:tbl>`;
    const removed = '<w:p><w:del><w:r><w:delText>secret</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>';
    const shape = `<mc:AlternateContent><mc:Choice>${paragraph('once')}</mc:Choice><mc:Fallback>${paragraph('once')}</mc:Fallback></mc:AlternateContent>`;
    const document = docxFile(
      heading + item + table + removed + shape,
      `<w:footnotes>${paragraph('note')}</w:footnotes>`,
    );
    expect(await textOf(document)).toBe('## Part & whole\n\n- item\n\na | b\nc d\n\nkept\n\nonce\n\nnote');
  });

  it('reads the slides of PPTX in their order, with notes', async () => {
    const slide = (text: string): string => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`;
    const row = '<a:tr><a:tc><a:p><a:t>x</a:t></a:p></a:tc><a:tc><a:p><a:t>y</a:t></a:p></a:tc></a:tr>';
    const notes = '<p:notes><a:p><a:t>say this</a:t></a:p><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:notes>';
    const presentation = pptxFile([slide('first'), `<p:sld><a:tbl>${row}</a:tbl></p:sld>`], notes);
    expect(await textOf(presentation)).toBe('## Slide 1\nfirst\nNotes:\nsay this\n\n## Slide 2\nx | y');
  });

  it('reads the sheets of XLSX with dates, numbers and gaps', async () => {
    expect(await textOf(fixture('sheet.xlsx'))).toBe(
      '## Größen\nName,"Amount, net"\n"Ärger ""x""",1234.5\n日本,2026-01-31\nTRUE,0.1,,42\n2026-01-31 13:45:00\n\n## Two\n,,last',
    );
  });

  it('reads the sheets of XLS, also texts that continue in another record', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => `row ${index} ${(index % 2 === 0 ? '语' : 'x').repeat(300)}`);
    const first = ['## Größen', 'Name,"Amount, net"', '"Ärger ""x""",1234.5', '日本,2026-01-31', 'TRUE,0.1', ',,,42'];
    expect(await textOf(fixture('sheet.xls'))).toBe([...first, ...rows, '', '## Two', 'last'].join('\n'));
  });

  it('reads the chapters of EPUB without scripts', async () => {
    expect(await textOf(fixture('book.epub'))).toBe(
      '# Chap & ter\n\nSome bold\u00a0text, wrapped\n\n- one\n- two\n\nx | y',
    );
  });

  it.each([
    ['UTF-8', Buffer.from('größer\r\n日本')],
    ['UTF-8 with a mark', Buffer.from('\uFEFFgrößer\r\n日本')],
    ['UTF-16', Buffer.from('größer\r\n日本', 'utf16le')],
    ['UTF-16 with a mark', Buffer.from('\uFEFFgrößer\r\n日本', 'utf16le')],
    ['UTF-16, big-endian', Buffer.from('größer\r\n日本', 'utf16le').swap16()],
  ])('reads text in %s', async (_encoding, bytes) => {
    expect(await textOf(bytes)).toBe('größer\n日本');
  });

  it('reads text in Latin-1, and tables saved under the name of XLS', async () => {
    expect(await textOf(Buffer.from('größer', 'latin1'), 'a.csv')).toBe('größer');
    expect(await textOf(Buffer.from('a;b\n1;2\n'), 'table.xls')).toBe('a;b\n1;2\n');
  });

  it('cuts the text off at its limit', async () => {
    const limits = { ...defaultLimits, maxCharacters: 10 };
    for (const bytes of [fixture('report.pdf'), fixture('sheet.xls'), Buffer.from('x'.repeat(50))]) {
      const { text, isTruncated } = await extractDocument(bytes, { filename: '', contentType: '' }, limits);
      expect([text.length, isTruncated]).toEqual([10, true]);
    }
  });
});

describe('a file that cannot be read', () => {
  const bomb = zipFile([
    { name: '[Content_Types].xml', content: '<Types/>' },
    { name: 'word/document.xml', content: Buffer.alloc(defaultLimits.maxEntryBytes + 1) },
  ]);
  const nested = '<w:x>'.repeat(300);
  const entities = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>';
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(40, 7)]);
  const sealedBook = zipFile([
    { name: 'META-INF/container.xml', content: '<c><rootfile full-path="o.opf"/></c>' },
    { name: 'META-INF/encryption.xml', content: '<e><CipherReference URI="a.xhtml"/></e>' },
    { name: 'o.opf', content: '<p><item id="a" href="a.xhtml"/><itemref idref="a"/></p>' },
    { name: 'a.xhtml', content: '<p>x</p>' },
  ]);

  it.each([
    ['is empty', Buffer.alloc(0), ''],
    ['holds no text', Buffer.from(' \n'), ''],
    ['holds no text', pdfFile(['']), ''],
    ['is of a type that cannot be read', png, 'a.png'],
    ['is not a valid PDF', Buffer.from('<html>not found</html>'), 'report.pdf'],
    ['is not a valid PDF', Buffer.from('%PDF-1.7\nnothing'), ''],
    ['is not a valid DOCX', png, 'a.docx'],
    ['is encrypted; remove its password first', fixture('encrypted.pdf'), ''],
    ['is encrypted; remove its password first', sealedBook, ''],
    [
      'is encrypted; remove its password first',
      zipFile([
        { name: '[Content_Types].xml', content: '', encrypted: true },
        { name: 'word/document.xml', content: 'x', encrypted: true },
      ]),
      '',
    ],
    ['unpacks to too many bytes', bomb, 'a.docx'],
    ['is nested too deeply', docxFile(nested), ''],
    ['declares entities of its own', docxFile('', `${entities}<w:footnotes/>`), ''],
    ['is an archive of a type that cannot be read', zipFile([{ name: 'a.txt', content: 'x' }]), 'a.zip'],
    ['is not a valid archive', docxFile(paragraph('x')).subarray(0, 200), 'a.docx'],
    [
      'is not a valid Office document',
      zipFile([
        { name: '[Content_Types].xml', content: '' },
        { name: 'word/a', content: '' },
      ]),
      '',
    ],
  ])('%s', async (fault, bytes, filename) => {
    expect(await faultOf(bytes, filename)).toBe(fault);
  });

  it('has too many pages, slides, sheets, chapters or files', async () => {
    const limits = { ...defaultLimits, maxPages: 1, maxEntries: 20 };
    const slide = '<p:sld/>';
    expect(await faultOf(pdfFile(['a', 'b']), '', limits)).toBe('has more than 1 pages');
    expect(await faultOf(pptxFile([slide, slide], ''), '', limits)).toBe('has more than 1 slides');
    expect(await faultOf(fixture('sheet.xlsx'), '', limits)).toBe('has more than 1 sheets');
    expect(await faultOf(fixture('sheet.xls'), '', limits)).toBe('has more than 1 sheets');
    const many = zipFile(Array.from({ length: 21 }, (_, index) => ({ name: `a${index}`, content: '' })));
    expect(await faultOf(many, '', limits)).toBe('holds more than 20 files');
  });

  it('unpacks to too many bytes only together', async () => {
    const limits = { ...defaultLimits, maxUnpackedBytes: 900 };
    expect(await faultOf(docxFile(paragraph('x'.repeat(600))), '', limits)).toBe('unpacks to too many bytes');
  });
});
