import { pullError } from './pull-error.js';
import { parseSourceUri, type SourceUri } from './source-uri.js';

/** A source as `sluice models add` takes it: of a hub or package, one file or quantization may be named. */
export interface AddSource {
  uri: Exclude<SourceUri, { kind: 'pypi' }>;
  /** The file in `hf:<repository>:<file>` and `npm:<package>:<file>`. */
  file: string | undefined;
}

/**
 * Parses a source without a manifest. Throws `INVALID_MANIFEST` for another form, and `MODEL_PULL_FAILED` for a package
 * that cannot be inspected.
 */
export function parseAddSource(text: string): AddSource {
  const [, holder, file] = /^((?:hf|npm):[^:]+):(.+)$/.exec(text) ?? [];
  const uri = parseSourceUri(holder ?? text);
  if (uri.kind === 'pypi') {
    throw pullError(
      `${text} is packed, and nothing of it can be read in advance. Write a manifest: docs/operate/models.md.`,
    );
  }
  return { uri, file };
}
