const opening = '[REF]';
const closing = '[/REF]';
/** A longer marker names more sources than there can be. */
const maxMarkerLength = 64;

const marker = /^\[REF\]\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)\s*\[\/REF\]/;
const unfinished = /^\[REF\][\d\s,]*(?:\[(?:\/(?:R(?:EF?)?)?)?)?$/;

/**
 * Passes on text with its citations as `[REF]0[/REF]`, one marker per source, and without those that name no source.
 * Text that may become a marker is held back until that is decided.
 */
export class ReferenceFilter {
  private held = '';

  constructor(private readonly sourceCount: number) {}

  push(text: string): string {
    this.held += text;
    let passed = '';
    for (;;) {
      const start = this.held.indexOf('[');
      if (start === -1) return passed + this.take(this.held.length);
      passed += this.take(start);
      const { held } = this;
      const found = marker.exec(held);
      if (found !== null) {
        passed += this.markersOf(found[1] ?? '');
        this.take(found[0].length);
      } else if (mayBecomeMarker(held)) return passed;
      else passed += this.passBracket();
    }
  }

  /** The rest of the text; a marker that is incomplete is left out. */
  finish(): string {
    const rest = this.take(this.held.length);
    return rest.startsWith(opening) ? '' : rest;
  }

  private take(length: number): string {
    const taken = this.held.slice(0, length);
    this.held = this.held.slice(length);
    return taken;
  }

  /** Half a marker says nothing to a client. */
  private passBracket(): string {
    for (const half of [opening, closing]) {
      if (!this.held.startsWith(half)) continue;
      this.take(half.length);
      return '';
    }
    return this.take(1);
  }

  private markersOf(list: string): string {
    const known = list
      .split(',')
      .map(Number)
      .filter((index) => index < this.sourceCount);
    return [...new Set(known)].map((index) => `${opening}${index}${closing}`).join('');
  }
}

function mayBecomeMarker(held: string): boolean {
  if (held.length > maxMarkerLength) return false;
  if (held === closing) return false;
  return opening.startsWith(held) || closing.startsWith(held) || unfinished.test(held);
}
