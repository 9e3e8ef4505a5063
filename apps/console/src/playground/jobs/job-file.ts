import type { StoredJob } from './job-store.js';

/** Extensions of media types whose subtype is not the usual extension. */
const extensions: Record<string, string> = { 'audio/mpeg': 'mp3', 'audio/mp4': 'm4a', 'video/quicktime': 'mov' };

/** Returns the name of the file of a result, with the extension of its media type; without one for an unknown type. */
export function jobFileName(route: StoredJob['route'], mediaType: string): string {
  const [type = ''] = mediaType.toLowerCase().split(';', 1);
  const subtype = type.trim().split('/')[1]?.replace(/^x-/, '') ?? '';
  const extension = extensions[type.trim()] ?? subtype;
  return /^[a-z0-9]{1,8}$/.test(extension) ? `${route}.${extension}` : route;
}
