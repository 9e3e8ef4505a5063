import { PlatformError } from '#common';
import { parseAddSource } from '../source/add-source.js';
import { ggufNameOf } from '../source/web-file-name.js';

/**
 * What an operator names to install a model: the id of one that is known, a file or folder, or a source elsewhere. A
 * path is as it was written.
 */
export type ModelReference =
  { kind: 'id'; id: string } | { kind: 'path'; path: string } | { kind: 'source'; uri: string; url: URL | null };

const schemes = /^(hf|npm|https?|file):/;
const anyScheme = /^[a-z][a-z0-9+.-]*:/i;

/** True for what names its kind of source itself, such as `hf:…`. */
export function isSourceUri(text: string): boolean {
  return schemes.test(text);
}

/** True for the path of a manifest; other files and folders hold weights. */
export function isManifestPath(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path);
}

/**
 * Parses a reference without looking at this machine: what names no kind of source is a path if it begins with `/` or
 * `.`, else an id. Throws `INVALID_REQUEST`, with the sentence of the command line.
 */
export function parseReference(text: string): ModelReference {
  if (text.startsWith('file:')) return { kind: 'path', path: text.slice('file:'.length).replace(/^\/\/(?=\/)/, '') };
  if (/^\.{0,2}\//.test(text)) return { kind: 'path', path: text };
  if (/^[a-z0-9][a-z0-9._-]*$/i.test(text)) return { kind: 'id', id: text };
  if (!anyScheme.test(text)) throw unknownSource(text);
  try {
    const { uri } = parseAddSource(text);
    if (uri.kind === 'https') ggufNameOf(uri.url);
    return { kind: 'source', uri: text, url: uri.kind === 'https' ? uri.url : null };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    throw new PlatformError('INVALID_REQUEST', error.message, null, { cause: error });
  }
}

/** Creates the error for what is neither on this disk nor known by its id. */
export function unknownSource(text: string): PlatformError {
  const kinds =
    'a path, hf:<owner>/<repository>, npm:<package>@<version>, https:<url of a .gguf file> or an id of `models search`';
  return new PlatformError('INVALID_REQUEST', `There is no file, folder or open model ${text}. A source is ${kinds}.`);
}
