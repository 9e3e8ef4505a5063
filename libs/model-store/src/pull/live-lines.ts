/** Minimum interval between two drawings, in ms. */
const frameMs = 125;

/**
 * Lines at the bottom of a terminal that change, below text that stays. Changes no setting of the terminal, and leaves the
 * cursor below its lines, so that a process which is killed leaves nothing to repair.
 */
export class LiveLines {
  private shown: readonly string[] = [];
  private frame: NodeJS.Timeout | undefined;
  private isStale = false;

  constructor(
    private readonly stream: NodeJS.WriteStream,
    /** Returns the lines, each at most `columns` wide, and at most `rows`. */
    private readonly render: (columns: number, rows: number) => readonly string[],
  ) {}

  /** Draws again, unless that was done a moment ago: then a little later. */
  refresh(): void {
    if (this.frame !== undefined) {
      this.isStale = true;
      return;
    }
    this.draw('');
    this.frame = setTimeout(() => {
      this.frame = undefined;
      if (this.isStale) this.refresh();
    }, frameMs);
    this.frame.unref();
  }

  /** Writes text that stays. */
  note(text: string): void {
    this.draw(`${text}\n`);
  }

  /** Removes the lines. */
  close(): void {
    clearTimeout(this.frame);
    this.frame = undefined;
    if (this.shown.length > 0) this.stream.write(this.erasure());
    this.shown = [];
  }

  /** A single write, so that a terminal shows no half of it. */
  private draw(text: string): void {
    const erasure = this.erasure();
    const { columns, rows } = this.size;
    this.shown = this.render(columns - 1, rows - 1);
    this.isStale = false;
    this.stream.write(erasure + text + this.shown.map((line) => `${line}\n`).join(''));
  }

  /** Terminals that do not know their size report zeros. */
  private get size(): { columns: number; rows: number } {
    const { columns, rows } = this.stream;
    return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
  }

  /** A terminal that became narrower has wrapped the lines. */
  private erasure(): string {
    if (this.shown.length === 0) return '';
    const { columns } = this.size;
    const rows = this.shown.reduce((sum, { length }) => sum + Math.max(1, Math.ceil(length / columns)), 0);
    return `\r\u001B[${rows}A\u001B[J`;
  }
}
