import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import { readXml } from '../containers/xml-reader.js';
import { DocumentFault } from '../document-fault.js';
import type { ExtractedPage, PageHints, PageLink, PageMetadata } from '../page.js';
import { encodingOfText } from './plain-text.js';
import { checkDepth, removeActiveContent } from './page-tree.js';

const maxLinks = 500;
const maxText = 200;
const maxUrl = 2_048;

/** A link element, as far as it is needed. */
interface LinkElement {
  textContent: string | null;
  getAttribute(name: string): string | null;
}

/** Returns the http and https links of a page, each URL once, without its fragment. */
function readLinks(elements: Iterable<LinkElement>, baseUrl: string): PageLink[] {
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

const maxTitle = 500;
const maxMember = 1_000;
/** Where a page may name its encoding. */
const headBytes = 2_048;

/**
 * Turns a page into Markdown: its main content without navigation, advertisements and scripts. Nothing is fetched and no
 * script runs. Rejects with `DocumentFault`.
 */
export async function extractPage(
  bytes: Buffer,
  { url, charset }: PageHints,
  maxCharacters: number,
): Promise<ExtractedPage> {
  if (bytes.length === 0) throw new DocumentFault('is empty');
  // Deep nesting takes the DOM a time that grows with its square.
  readXml(bytes, {}, { html: true });
  const { document } = parseHTML(decodePage(bytes, charset));
  checkDepth(document);
  const base = baseOf(document.querySelector('base')?.getAttribute('href') ?? '', url);
  // Read first: what follows removes what it does not take for content.
  const links = readLinks(document.querySelectorAll('a[href]'), base);
  removeActiveContent(document, base);
  const page = await Defuddle(document as unknown as Parameters<typeof Defuddle>[0], base, {
    markdown: true,
    useAsync: false,
    // It takes short lists for clutter of blogs.
    removeContentPatterns: false,
  });
  const markdown = page.content.trim();
  if (markdown === '') throw new DocumentFault('holds no text');
  return {
    title: clean(page.title, maxTitle),
    markdown: markdown.slice(0, maxCharacters).toWellFormed(),
    links,
    metadata: metadataOf(page),
    isTruncated: markdown.length > maxCharacters,
  };
}

/** Decodes as browsers do: the byte order mark, then the response, then the page, then what the bytes look like. */
function decodePage(bytes: Buffer, charset: string): string {
  const guess = encodingOfText(bytes);
  if (guess === null && charset === '') throw new DocumentFault('is not text');
  const head = bytes.subarray(0, headBytes).toString('latin1');
  const named = /<meta[^>]{0,200}charset\s*=\s*(?:["']\s*)?([\w.:-]{1,40})/i.exec(head)?.[1] ?? '';
  const hasMark = guess !== null && /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.test(head);
  const wanted = hasMark ? guess : (known(charset) ?? known(named) ?? guess ?? 'utf-8');
  return new TextDecoder(wanted).decode(bytes);
}

function known(label: string): string | null {
  try {
    return label === '' ? null : new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

function baseOf(href: string, url: string): string {
  const base = URL.canParse(href, url) ? new URL(href, url) : null;
  return href !== '' && base !== null && /^https?:$/.test(base.protocol) ? base.href : url;
}

function metadataOf(page: Record<keyof PageMetadata, unknown>): PageMetadata {
  const { description, author, site, published, language } = page;
  const members = Object.entries({ description, author, site, published, language });
  return Object.fromEntries(members.map(([name, value]) => [name, clean(value, maxMember)]).filter(([, text]) => text));
}

function clean(value: unknown, maxLength: number): string {
  return typeof value === 'string' ? value.replaceAll(/\s+/g, ' ').trim().slice(0, maxLength).toWellFormed() : '';
}
