import type { PageLink } from '../page.js';

const maxLinks = 500;
const maxText = 200;
const maxUrl = 2_048;

/** A link element, as far as it is needed. */
export interface LinkElement {
  textContent: string | null;
  getAttribute(name: string): string | null;
}

/** Returns the http and https links of a page, each URL once, without its fragment. */
export function readLinks(elements: Iterable<LinkElement>, baseUrl: string): PageLink[] {
  const links = new Map<string, PageLink>();
  for (const element of elements) {
    if (links.size === maxLinks) break;
    const url = absolute(element.getAttribute('href') ?? '', baseUrl);
    if (url === null || links.has(url)) continue;
    const text = (element.textContent ?? '')
      .slice(0, maxText * 4)
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, maxText);
    links.set(url, { text: text.toWellFormed(), url });
  }
  return [...links.values()];
}

function absolute(href: string, baseUrl: string): string | null {
  if (href === '' || href.length > maxUrl || !URL.canParse(href, baseUrl)) return null;
  const url = new URL(href, baseUrl);
  url.hash = '';
  const isPlain = (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === '';
  return isPlain ? url.href : null;
}
