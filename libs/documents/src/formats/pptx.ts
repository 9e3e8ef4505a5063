import { DocumentFault } from '../document-fault.js';
import type { DocumentLimits } from '../document-limits.js';
import { readXml } from '../containers/xml-reader.js';
import type { ZipArchive } from '../containers/zip-archive.js';
import type { TextSink } from '../text-sink.js';
import { mainPartOf, readPart, relationshipsOf } from './office-package.js';

/** Writes the slides in their order, each with its number and its notes. */
export function extractPptx(archive: ZipArchive, sink: TextSink, { maxPages }: DocumentLimits): void {
  const slides = slidesOf(archive);
  if (slides.length > maxPages) throw new DocumentFault(`has more than ${maxPages} slides`);
  for (const [index, slide] of slides.entries()) {
    const content = archive.read(slide);
    if (content === null) continue;
    sink.write(`## Slide ${index + 1}`);
    sink.endLine();
    writeParagraphs(content, sink);
    const notes = relationshipsOf(archive, slide).find(({ type }) => type === 'notesSlide');
    const noted = notes === undefined ? null : archive.read(notes.target);
    if (noted !== null) {
      sink.write('Notes:');
      sink.endLine();
      writeParagraphs(noted, sink);
    }
    sink.endParagraph();
  }
}

function slidesOf(archive: ZipArchive): string[] {
  const main = mainPartOf(archive, 'ppt/presentation.xml');
  const targets = new Map(relationshipsOf(archive, main).map(({ id, target }) => [id, target]));
  const slides: string[] = [];
  readXml(readPart(archive, main), {
    open: (name, { 'r:id': id }) => {
      const target = name === 'sldId' && id !== undefined ? targets.get(id) : undefined;
      if (target !== undefined) slides.push(target);
    },
  });
  return slides;
}

/** Writes the paragraphs of DrawingML; the cells of a table row are separated by `|`. Slide numbers are left out. */
function writeParagraphs(content: Buffer, sink: TextSink): void {
  let isText = false;
  let isField = false;
  let cells = -1;
  readXml(content, {
    open: (name) => {
      if (name === 't') isText = true;
      if (name === 'fld') isField = true;
      if (name === 'br') sink.endLine();
      if (name === 'tr') cells = 0;
      if (name !== 'tc') return;
      cells += 1;
      if (cells > 1) sink.write(' | ');
    },
    close: (name) => {
      if (name === 't') isText = false;
      if (name === 'fld') isField = false;
      if (name === 'tr') cells = -1;
      if (name === 'tr' || (name === 'p' && cells === -1)) sink.endLine();
    },
    text: (text) => {
      if (isText && !isField) sink.write(text);
    },
  });
}
