/**
 * The levels of the headings of one answer. They follow the title of the page and skip no level, whichever levels the
 * model uses, because screen readers navigate by them.
 */
export class Outline {
  /** Levels of the text that are open, ascending. */
  private readonly open: number[] = [];

  /** Returns the level on the page of the next heading. The same heading may be placed again. */
  place(level: number): number {
    while ((this.open.at(-1) ?? 0) >= level) this.open.pop();
    this.open.push(level);
    return Math.min(this.open.length + 1, 6);
  }
}
