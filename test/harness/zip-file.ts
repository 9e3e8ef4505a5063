import { crc32, deflateRawSync } from 'node:zlib';

export interface ZippedFile {
  name: string;
  content: Buffer | string;
  /** Not compressed. */
  stored?: boolean;
  /** Marked as encrypted. */
  encrypted?: boolean;
}

/** Writes a ZIP archive for tests. */
export function zipFile(files: readonly ZippedFile[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, stored = false, encrypted = false } of files) {
    const bytes = Buffer.from(content);
    const packed = stored ? bytes : deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(encrypted ? 1 : 0, 2);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    const madeBy = Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1');
    directory.push(Buffer.concat([madeBy, common, rest, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(listing.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, listing, Buffer.from('PK\u0005\u0006', 'latin1'), end]);
}

const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

function relationships(...links: { id: string; type: string; target: string }[]): string {
  const elements = links.map(
    ({ id, type, target }) => `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `<?xml version="1.0"?><Relationships>${elements.join('')}</Relationships>`;
}

/** Writes a Word document whose body is given as XML. */
export function docxFile(body: string, footnotes?: string): Buffer {
  const notes = { id: 'r2', type: 'footnotes', target: 'footnotes.xml' };
  return zipFile([
    { name: '[Content_Types].xml', content: '<Types/>' },
    { name: '_rels/.rels', content: relationships({ id: 'r1', type: 'officeDocument', target: 'word/document.xml' }) },
    { name: 'word/document.xml', content: `<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>` },
    { name: 'word/_rels/document.xml.rels', content: relationships(...(footnotes === undefined ? [] : [notes])) },
    ...(footnotes === undefined ? [] : [{ name: 'word/footnotes.xml', content: footnotes }]),
  ]);
}

/** Writes a presentation of slides given as XML, and notes of the first one. */
export function pptxFile(slides: readonly string[], notes: string): Buffer {
  const links = slides.map((_slide, index) => ({
    id: `r${index}`,
    type: 'slide',
    target: `slides/slide${slides.length - index}.xml`,
  }));
  const list = links.map(({ id }) => `<p:sldId r:id="${id}"/>`).join('');
  return zipFile([
    { name: '[Content_Types].xml', content: '<Types/>' },
    { name: 'ppt/presentation.xml', content: `<p:presentation><p:sldIdLst>${list}</p:sldIdLst></p:presentation>` },
    { name: 'ppt/_rels/presentation.xml.rels', content: relationships(...links) },
    ...slides.map((content, index) => ({ name: `ppt/slides/slide${slides.length - index}.xml`, content })),
    {
      name: `ppt/slides/_rels/slide${slides.length}.xml.rels`,
      content: relationships({ id: 'n', type: 'notesSlide', target: '../notesSlides/notes.xml' }),
    },
    { name: 'ppt/notesSlides/notes.xml', content: notes },
  ]);
}
