/** Command output: one JSON document, or lines and tables. */
export class Output {
  private documents = 0;

  constructor(private readonly stream: NodeJS.WritableStream) {}

  /** Whether a JSON document was written. */
  get hasDocument(): boolean {
    return this.documents > 0;
  }

  json(value: unknown): void {
    this.documents++;
    // Integers beyond the safe range are written as strings, because JSON readers would round them.
    const replacer = (_key: string, member: unknown) => (typeof member === 'bigint' ? String(member) : member);
    this.stream.write(`${JSON.stringify(value, replacer, 2)}\n`);
  }

  line(text = ''): void {
    this.stream.write(`${text}\n`);
  }

  /** Writes without a line break, for streamed text. */
  write(text: string): void {
    this.stream.write(text);
  }

  /** Formats columns as wide as their longest cell. */
  table(header: string[], rows: string[][]): void {
    const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
    for (const row of [header, ...rows]) {
      this.line(
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      );
    }
  }
}
