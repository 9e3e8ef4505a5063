import { posix } from 'node:path';
import { corrupt } from '../document-fault.js';
import { readXml } from '../containers/xml-reader.js';
import type { ZipArchive } from '../containers/zip-archive.js';

/** A link from one part of an Office Open XML package to another (ECMA-376 part 2). */
export interface Relationship {
  id: string;
  /** Last segment of the type's URI, such as `worksheet`. */
  type: string;
  /** Path of the target in the archive. */
  target: string;
}

/** Returns the links of a part; empty if it has none. The empty name stands for the package. */
export function relationshipsOf(archive: ZipArchive, part: string): Relationship[] {
  const folder = posix.dirname(part);
  const path = part === '' ? '_rels/.rels' : posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const content = archive.read(path);
  const found: Relationship[] = [];
  if (content === null) return found;
  readXml(content, {
    open: (name, { Id: id, Type: type, Target: target, TargetMode: mode }) => {
      if (name !== 'Relationship' || id === undefined || target === undefined || mode === 'External') return;
      found.push({ id, type: (type ?? '').split('/').at(-1) ?? '', target: resolveTarget(folder, target) });
    },
  });
  return found;
}

/** Returns the path of the main part: of the document, the presentation or the workbook. Throws `DocumentFault`. */
export function mainPartOf(archive: ZipArchive, defaultPath: string): string {
  const main = relationshipsOf(archive, '').find(({ type }) => type === 'officeDocument')?.target ?? defaultPath;
  if (archive.has(main)) return main;
  if (archive.has(defaultPath)) return defaultPath;
  throw corrupt('Office document');
}

/** Returns the content of a part that must exist. Throws `DocumentFault`. */
export function readPart(archive: ZipArchive, path: string): Buffer {
  const content = archive.read(path);
  if (content === null) throw corrupt('Office document');
  return content;
}

function resolveTarget(folder: string, target: string): string {
  return target.startsWith('/') ? target.slice(1) : posix.normalize(posix.join(folder, target));
}
