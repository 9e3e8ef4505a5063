import { Parser } from 'htmlparser2';
import { DocumentFault } from '../document-fault.js';
import { maxXmlDepth } from '../document-limits.js';

/** Callbacks of a document, in reading order. Names are without their prefix: `w:p` is `p`. */
export interface XmlHandler {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** Bytes decoded at once, so that no second copy of a large document exists. */
const chunkBytes = 256 * 1024;

/**
 * Reads XML, or the HTML of books, part by part. Attribute names keep their prefix. Entities of the document itself are
 * refused, external ones are never fetched. Throws `DocumentFault` for deep nesting.
 */
export function readXml(bytes: Uint8Array, handler: XmlHandler, { html = false }: { html?: boolean } = {}): void {
  let depth = 0;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        depth += 1;
        if (depth > maxXmlDepth) throw new DocumentFault('is nested too deeply');
        handler.open?.(localName(name), attributes);
      },
      onclosetag: (name) => {
        depth -= 1;
        handler.close?.(localName(name));
      },
      ontext: (text) => handler.text?.(text),
      onprocessinginstruction: (_name, data) => {
        if (/<!ENTITY/i.test(data)) throw new DocumentFault('declares entities of its own');
      },
    },
    { xmlMode: !html, decodeEntities: true },
  );
  const decoder = new TextDecoder(encodingOf(bytes));
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    parser.write(decoder.decode(bytes.subarray(start, start + chunkBytes), { stream: true }));
  }
  parser.end(decoder.decode());
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** XML is UTF-8 or UTF-16; other encodings are named in the declaration. */
function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const named = /^<\?xml[^>]*encoding=["']([\w.:-]{1,40})["']/.exec(head)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(named).encoding.startsWith('utf-16') ? 'utf-8' : named;
  } catch {
    return 'utf-8';
  }
}
