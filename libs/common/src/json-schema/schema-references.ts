import { isSchemaObject } from './schema-forms.js';

/** A schema or other value in the document. */
export interface DocumentPlace {
  pointer: string;
  value: unknown;
}

/** Where a reference leads; `outside`: to another document; `nowhere`: to a place that the document lacks. */
export type Resolved = DocumentPlace | 'outside' | 'nowhere' | 'malformed';

/** Base of documents without an identifier. */
const unnamed = 'schema:/';

/** Members whose values are data, not schemas. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);

/** The identifiers of a document, by which its references name schemas. Nothing outside of the document is read. */
export class SchemaReferences {
  /** By their URIs without a fragment. */
  private readonly resources = new Map<string, DocumentPlace>();
  /** By URI and name. */
  private readonly anchors = new Map<string, DocumentPlace>();
  /** Base URIs of all objects; null where one holds for the whole document. */
  private bases: Map<unknown, string> | null = null;
  private rootBase = unnamed;

  constructor(private readonly schema: unknown) {
    this.resources.set(unnamed, { pointer: '', value: schema });
  }

  /** Finds the identifiers; linear in the length of the document. Yields whenever `isDue` says so. */
  *read(isDue: () => boolean): Generator<void, void> {
    this.rootBase = this.identify({ pointer: '', value: this.schema }, unnamed);
    const open: [place: DocumentPlace, base: string][] = [[{ pointer: '', value: this.schema }, this.rootBase]];
    const inner = new Map<unknown, string>();
    let hasOthers = false;
    for (let item = open.pop(); item !== undefined; item = open.pop()) {
      const [place, base] = item;
      inner.set(place.value, base);
      hasOthers ||= base !== this.rootBase;
      for (const [key, value] of Object.entries(place.value as object)) {
        if (isDue()) yield;
        if (typeof value !== 'object' || value === null || dataKeywords.has(key)) continue;
        const child = { pointer: `${place.pointer}${pointerStep(key)}`, value: value as unknown };
        open.push([child, this.identify(child, base)]);
      }
    }
    if (hasOthers) this.bases = inner;
  }

  /** What `reference`, in the schema `from`, names. */
  resolve(reference: string, from: unknown): Resolved {
    const base = this.bases?.get(from) ?? this.rootBase;
    const found = this.find(reference, base);
    // Generators name schemas inside of a document, and refer to the document all the same.
    const isLocal = found === 'nowhere' && reference.startsWith('#') && base !== this.rootBase;
    return isLocal ? this.find(reference, this.rootBase) : found;
  }

  private find(reference: string, base: string): Resolved {
    const hash = reference.indexOf('#');
    const address = hash === -1 ? reference : reference.slice(0, hash);
    const resource = address === '' ? base : resolvedUri(address, base);
    const found = resource === null ? undefined : this.resources.get(resource);
    const fragment = decoded(hash === -1 ? '' : reference.slice(hash + 1));
    if (fragment === null) return 'malformed';
    if (found === undefined || resource === null) return 'outside';
    if (fragment === '') return found;
    return fragment.startsWith('/')
      ? follow(found, fragment)
      : (this.anchors.get(`${resource}#${fragment}`) ?? 'nowhere');
  }

  /** Keeps the identifiers of an object, and returns the base of what is in it. */
  private identify({ pointer, value }: DocumentPlace, base: string): string {
    if (!isSchemaObject(value)) return base;
    const { $id = value.id, $anchor } = value;
    let uri = base;
    if (typeof $id === 'string') {
      // Draft 4 to 7 write an anchor as an identifier.
      if ($id.startsWith('#')) this.anchors.set(`${base}#${$id.slice(1)}`, { pointer, value });
      else uri = resolvedUri($id.split('#', 1)[0] ?? '', base) ?? base;
      if (!this.resources.has(uri)) this.resources.set(uri, { pointer, value });
    }
    for (const anchor of [$anchor, value.$dynamicAnchor]) {
      if (typeof anchor === 'string') this.anchors.set(`${uri}#${anchor}`, { pointer, value });
    }
    return uri;
  }
}

export function pointerStep(step: string | number): string {
  return `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function follow(from: DocumentPlace, fragment: string): DocumentPlace | 'nowhere' {
  let { value } = from;
  for (const step of fragment.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return 'nowhere';
    value = (value as Record<string, unknown>)[name];
  }
  return { pointer: `${from.pointer}${fragment}`, value };
}

function resolvedUri(address: string, base: string): string | null {
  const uri = URL.parse(address, base);
  return uri === null ? null : uri.href;
}

function decoded(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return null;
  }
}
