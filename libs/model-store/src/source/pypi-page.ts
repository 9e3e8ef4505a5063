import { pullError } from './pull-error.js';

/** One file of a project on a package index. */
export interface PypiFile {
  name: string;
  url: URL;
  /** Hex; missing where the index does not say. */
  sha256?: string;
}

/** The name of a project as addresses have it: lower case, one `-` for every run of `-`, `_` and `.` (PEP 503). */
export function projectName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

/** The project and the version in the name of a wheel, which has no other `-` before them (PEP 427); null for other files. */
export function parseWheelName(name: string): { project: string; version: string } | null {
  const [project, version, ...tags] = name.split('-');
  if (!name.endsWith('.whl') || project === undefined || version === undefined || tags.length < 3) return null;
  return { project: projectName(project), version };
}

/**
 * Reads the page of one project: the JSON form of PEP 691, or the HTML form of PEP 503, which older mirrors serve. Fails with
 * `MODEL_PULL_FAILED` for anything else.
 */
export function parsePypiPage(text: string, page: URL): PypiFile[] {
  const files = text.trimStart().startsWith('{') ? filesOfJson(text) : filesOfHtml(text);
  return files.flatMap(({ name, href, sha256 }) =>
    URL.canParse(href, page.href) ? [{ name, url: new URL(href, page), ...(sha256 !== undefined && { sha256 }) }] : [],
  );
}

interface Link {
  name: string;
  href: string;
  sha256?: string;
}

function filesOfJson(text: string): Link[] {
  let page: { files?: unknown };
  try {
    page = JSON.parse(text) as { files?: unknown };
  } catch (error) {
    throw pullError('The package index answered no valid JSON.', error);
  }
  if (!Array.isArray(page.files)) throw pullError('The package index answered no list of files.');
  return page.files.flatMap((file: { filename?: unknown; url?: unknown; hashes?: { sha256?: unknown } } | null) => {
    if (typeof file?.filename !== 'string' || typeof file.url !== 'string') return [];
    return [{ name: file.filename, href: file.url, ...hashOf(file.hashes?.sha256) }];
  });
}

function filesOfHtml(text: string): Link[] {
  // Cut at each link first: one pattern for the whole page would search to its end from every unclosed tag.
  const [, ...links] = text.split(/<a(?=\s)/i);
  return links.flatMap((link) => {
    const close = link.indexOf('>');
    const [, href] = /\shref="([^"]*)"/i.exec(link.slice(0, Math.max(0, close))) ?? [];
    if (href === undefined) return [];
    const [address = '', fragment = ''] = href.replaceAll('&amp;', '&').split('#');
    const [name = ''] = link.slice(close + 1).split('<');
    return [{ name: name.trim(), href: address, ...hashOf(/^sha256=(.+)$/.exec(fragment)?.[1]) }];
  });
}

function hashOf(value: unknown): { sha256?: string } {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? { sha256: value } : {};
}
