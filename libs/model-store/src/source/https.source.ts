import { PlatformError } from '#common';
import { containedPath } from '../contained-path.js';
import { downloadResumable } from './resumable-download.js';
import { defaultMaxFileBytes, type SourceRequest } from './source-request.js';
import { openWebRange } from './web-request.js';

/**
 * Fetches from a url. One that ends in `/` is a folder, to which the files' paths are added; any other is the single
 * file.
 */
export async function fetchWebSource(base: URL, request: SourceRequest): Promise<string[]> {
  const { files } = request.source;
  const { mayReach } = request.settings;
  const isFolder = base.pathname.endsWith('/');
  if (!isFolder && files.length > 1) {
    throw new PlatformError('INVALID_MANIFEST', 'A url of several files must end in "/".', 'sources.uri');
  }
  for (const file of files) {
    const url = isFolder ? new URL(encodeURI(file.path), base) : base;
    await downloadResumable({
      open: (offset, validator) => openWebRange({ url, mayReach, signal: request.signal }, offset, validator),
      target: containedPath(request.into, file.as ?? file.path),
      name: file.path,
      expected: { bytes: file.bytes, sha256: file.sha256, integrity: isFolder ? undefined : request.source.integrity },
      attempts: request.attempts,
      maxBytes: request.settings.maxFileBytes ?? defaultMaxFileBytes,
      openWriter: request.openWriter,
      onProgress: (stage, done, total) => request.onProgress(file.path, stage, done, total),
      signal: request.signal,
    });
  }
  return [];
}
