import { PlatformError } from '#common';

/** A parsed source uri. */
export type SourceUri =
  | { kind: 'npm'; name: string; version: string }
  | { kind: 'pypi'; name: string; version: string }
  | { kind: 'hf'; repository: string; revision: string }
  | { kind: 'file'; path: string }
  | { kind: 'https'; url: URL };

/** Parses `npm:`, `pypi:`, `hf:`, `file:` and `https:`. Fails with `INVALID_MANIFEST` naming the expected form. */
export function parseSourceUri(uri: string): SourceUri {
  const [, scheme = '', rest = ''] = /^([a-z]+):(.+)$/s.exec(uri) ?? [];
  if (scheme === 'npm') return parseNpm(rest);
  if (scheme === 'pypi') return parsePypi(rest);
  if (scheme === 'hf') return parseHub(rest);
  if (scheme === 'file') return { kind: 'file', path: rest.replace(/^\/\/(?=\/)/, '') };
  if (scheme === 'https' || scheme === 'http') return parseWeb(uri);
  throw malformed(uri, 'npm:, pypi:, hf:, file: or https:');
}

function parseNpm(rest: string): SourceUri {
  const [, name, version] = /^((?:@[a-z0-9-~][a-z0-9-._~]*\/)?[a-z0-9-~][a-z0-9-._~]*)@(\d[\w.+-]*)$/i.exec(rest) ?? [];
  // A range or a tag would install a different version later.
  if (!name || !version) throw malformed(`npm:${rest}`, 'npm:<package>@<version>, with one exact version');
  return { kind: 'npm', name, version };
}

function parsePypi(rest: string): SourceUri {
  const [, name, version] = /^([a-z0-9][a-z0-9._-]*)@(\d[\w.+!-]*)$/i.exec(rest) ?? [];
  if (!name || !version) throw malformed(`pypi:${rest}`, 'pypi:<package>@<version>, with one exact version');
  return { kind: 'pypi', name, version };
}

function parseHub(rest: string): SourceUri {
  const [, repository, revision] = /^([\w.-]+\/[\w.-]+|[\w.-]+)(?:@([\w./-]+))?$/.exec(rest) ?? [];
  if (!repository) throw malformed(`hf:${rest}`, 'hf:<owner>/<repository>@<revision>');
  return { kind: 'hf', repository, revision: revision ?? 'main' };
}

function parseWeb(uri: string): SourceUri {
  if (!URL.canParse(uri)) throw malformed(uri, 'https:<url>');
  const url = new URL(uri);
  assertFetchable(url);
  return { kind: 'https', url };
}

/** Requires https; plain http is only for this machine (tests, a mirror on localhost). */
export function assertFetchable(url: URL): void {
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && loopback)) return;
  throw new PlatformError(
    'INVALID_MANIFEST',
    `Models are fetched over https only, not from ${url.protocol}//….`,
    'uri',
  );
}

function malformed(uri: string, form: string): PlatformError {
  return new PlatformError('INVALID_MANIFEST', `The source "${uri}" is not of the form ${form}.`, 'uri');
}
