import { listFiles, type ListFileEntry, modelInfo } from '@huggingface/hub';
import { fetch as undiciFetch, type RequestInfo, type RequestInit } from 'undici';
import type { ManifestFile } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import { selectHubFiles } from './hub-files.js';
import { pullError } from './pull-error.js';
import { downloadResumable } from './resumable-download.js';
import { defaultMaxFileBytes, type SourceRequest } from './source-request.js';
import type { SourceSettings } from './source-settings.js';
import { openWebRange, webAgent, type WebRequest } from './web-request.js';

export interface HubRepository {
  repository: string;
  /** Branch, tag or commit. */
  revision: string;
}

export const publicHub = 'https://huggingface.co';

/**
 * Files of a hub repository at one commit. A branch is resolved first, so that a push during a pull never mixes two
 * versions. Large files are checked against the sha256 of the hub and of the manifest.
 */
export async function fetchHubSource(hub: HubRepository, request: SourceRequest): Promise<string[]> {
  const { settings } = request;
  const pinned = await pin(hub, settings);
  const entries = await listRepository(pinned, settings);
  for (const file of selectHubFiles(request.source.files, entries, hub.repository)) {
    await downloadHubFile(pinned, file, request);
  }
  return [];
}

/** Resolves the repository's revision to its current commit. */
export async function pin(hub: HubRepository, settings: SourceSettings): Promise<HubRepository> {
  if (/^[0-9a-f]{40}$/.test(hub.revision)) return hub;
  const { repository: name, revision } = hub;
  const info = await describeFailure(hub, () =>
    modelInfo({ name, revision, additionalFields: ['sha'], ...connection(settings) }),
  );
  return { repository: hub.repository, revision: info.sha };
}

/** Lists every file of the repository at its revision. */
export async function listRepository(hub: HubRepository, settings: SourceSettings): Promise<ListFileEntry[]> {
  return describeFailure(hub, async () => {
    const entries: ListFileEntry[] = [];
    const listing = listFiles({
      repo: { type: 'model', name: hub.repository },
      revision: hub.revision,
      recursive: true,
      ...connection(settings),
    });
    for await (const entry of listing) if (entry.type === 'file') entries.push(entry);
    return entries;
  });
}

/** The address of one file, with the token of the operator. */
export function hubFile(hub: HubRepository, path: string, settings: SourceSettings): WebRequest {
  const url = `${settings.hubEndpoint ?? publicHub}/${hub.repository}/resolve/${hub.revision}/${encodeURI(path)}`;
  return { url: new URL(url), headers: settings.hubToken ? { authorization: `Bearer ${settings.hubToken}` } : {} };
}

async function downloadHubFile(hub: HubRepository, file: ManifestFile, request: SourceRequest): Promise<void> {
  const { settings, signal } = request;
  const web = { ...hubFile(hub, file.path, settings), signal };
  await downloadResumable({
    // The commit identifies the content, because ETags of the hub and its storage differ. Without a hash, a resumed
    // file of two versions would go unnoticed.
    open: (offset) => openWebRange(web, file.sha256 === undefined ? 0 : offset, null),
    target: containedPath(request.into, file.as ?? file.path),
    name: `${hub.repository}/${file.path}`,
    expected: { bytes: file.bytes, sha256: file.sha256 },
    attempts: request.attempts,
    maxBytes: settings.maxFileBytes ?? defaultMaxFileBytes,
    openWriter: request.openWriter,
    onProgress: (stage, done, total) => request.onProgress(file.path, stage, done, total),
    signal,
  });
}

function connection({ hubEndpoint, hubToken }: SourceSettings) {
  const throughAgent = (input: unknown, init?: unknown) =>
    undiciFetch(input as RequestInfo, { ...(init as RequestInit), dispatcher: webAgent() });
  return {
    hubUrl: hubEndpoint ?? publicHub,
    fetch: throughAgent as unknown as typeof fetch,
    ...(hubToken ? { accessToken: hubToken } : {}),
  };
}

async function describeFailure<Result>(hub: HubRepository, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { statusCode, message } = error as { statusCode?: number; message?: string };
    const where = `hf:${hub.repository}@${hub.revision}`;
    if (statusCode === 401 || statusCode === 403 || statusCode === 404) {
      throw pullError(`${where} does not exist, or HF_TOKEN gives no access to it (${statusCode}).`, error);
    }
    throw pullError(`The hub did not answer for ${where}: ${message ?? 'unknown error'}.`, error);
  }
}
