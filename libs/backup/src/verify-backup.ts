import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { PartDigests } from './archive/part-digests.js';
import { readArchive } from './archive/read-archive.js';
import { type BackupManifest, manifestName, parseManifest } from './manifest.js';
import { refuseFile } from './refusal.js';

/** Reads a whole backup and compares it with its manifest, which it returns. Throws a refusal for one that differs. */
export async function verifyBackup(file: string, signal?: AbortSignal): Promise<BackupManifest> {
  const digests = new PartDigests();
  let manifest: BackupManifest | undefined;
  for await (const { path, content } of readArchive(file, signal)) {
    if (path === manifestName) {
      manifest = parseManifest(file, await text(content));
      continue;
    }
    digests.begin(path);
    for await (const chunk of content) digests.add(chunk);
  }
  if (manifest === undefined) throw refuseFile(file, 'is no backup of Sluice, or cut off');
  if (!isDeepStrictEqual(digests.finish(), manifest.parts)) throw refuseFile(file, 'is damaged');
  return manifest;
}
