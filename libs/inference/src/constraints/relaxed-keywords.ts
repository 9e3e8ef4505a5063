import type { SchemaNote } from '#common/json-schema';
import { longestPointer, maxRelaxedKeywords, type RelaxedKeyword } from '../contract/relaxed-keyword.js';

/** What a compilation leaves out of the schemas that are not strict, each place of each field once. */
export class RelaxedKeywords {
  private readonly notes = new Map<string, RelaxedKeyword>();

  get all(): RelaxedKeyword[] {
    return [...this.notes.values()];
  }

  /** `param`: field of the request that holds the schema; null: the one of the whole constraint. */
  add(param: string | null, { pointer, reason }: SchemaNote): void {
    if (this.notes.size >= maxRelaxedKeywords) return;
    // Pointers may be as long as the schema, and requests would carry them through every process.
    const place = pointer.length <= longestPointer ? pointer : `${pointer.slice(0, longestPointer)}…`;
    const key = `${param ?? ''} ${place}`;
    if (!this.notes.has(key)) this.notes.set(key, { param, pointer: place, reason });
  }
}
