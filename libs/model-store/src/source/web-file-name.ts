import { parseShardName } from '../convert/gguf/shard-names.js';
import { pullError } from './pull-error.js';

/**
 * Returns the name of the GGUF file behind a url. Throws `MODEL_PULL_FAILED` for other files, and for one of several
 * shards.
 */
export function ggufNameOf(url: URL): string {
  const name = decoded(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  if (!name.endsWith('.gguf')) {
    throw pullError(`${url.host}${url.pathname} is no .gguf file. For other files of the web, write a manifest.`);
  }
  if ((parseShardName(name)?.count ?? 1) > 1) {
    throw pullError(`${url.host}${url.pathname} is one part of a split model; fetch all parts and add them as files.`);
  }
  return name;
}

/** Returns a part of a url as text, and what is no encoding of a text as it is, such as a name with a bare percent sign. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
