/** Where the reader is: a view, perhaps one entry of it, and the filters. Everything stands in the address. */
export interface Place {
  view: string;
  /** The part behind the view, such as the id of a request. */
  entry: string | null;
  filters: Filters;
}

export type Filters = Record<string, string>;

/** Filters that hold for every view, so that a figure and the requests behind it show the same selection. */
const sharedFilters = ['range', 'from', 'to', 'model', 'key', 'scope'];

/** Reads the hash of an address, such as `#/requests/abc?range=7d`. */
export function parseHash(hash: string): Place {
  const [path, search] = splitOnce(hash.replace(/^#?\/?/, ''), '?');
  const [view, entry] = splitOnce(path, '/');
  const filters: Filters = {};
  for (const [name, value] of new URLSearchParams(search)) if (value !== '') filters[name] = value;
  return { view: decode(view), entry: entry === '' ? null : decode(entry), filters };
}

export function formatHash({ view, entry, filters }: Place): string {
  const search = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString();
  const path = [view, ...(entry === null ? [] : [entry])].map((part) => encodeURIComponent(part)).join('/');
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

/** The filters that stay when the reader goes to another view. */
export function keepShared(filters: Filters): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => sharedFilters.includes(name)));
}

/** Returns the filters with changes; an empty or null value removes one. */
export function changeFilters(filters: Filters, changes: Record<string, string | null>): Filters {
  const merged = { ...filters, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ''),
  );
}

function splitOnce(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + separator.length)];
}

/** A typed address may hold a stray percent sign. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
