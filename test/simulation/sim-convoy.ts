import pg from 'pg';

export interface Statement {
  text: string;
  values: unknown[];
}

const names = new Map<string, string>();

/** A statement is parsed and planned once per connection. */
export function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `sim_${names.size}`;
  names.set(text, name);
  return name;
}

/** What a connection offers to a query of one's own. */
interface Wire {
  stream: { write(bytes: Buffer): void };
}

interface Field {
  name: string;
  dataTypeID: number;
}

interface Column {
  name: string;
  parse: (text: string) => unknown;
}

/** The columns of each statement's rows: asked for once, since no table changes. */
const shapes = new Map<string, readonly Column[]>();

const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): string | Buffer | null } }).utils;

const int8: number = pg.types.builtins.INT8;

/** As Prisma reads them: 8-byte integers are bigints. */
function parserOf(oid: number): Column['parse'] {
  return oid === int8 ? BigInt : (pg.types.getTypeParser(oid, 'text') as Column['parse']);
}

/** What one answer of the server has for whoever asked. */
export interface Answer {
  rows: Record<string, unknown>[];
  rowCount: number;
}

/**
 * Statements that travel in one message, prepared once per connection: the server is woken once, and answers once. Only
 * the rows of the last one count. Takes the place of a query of `pg`, which is made anew for every statement.
 */
export class Convoy {
  private readonly rows: Record<string, unknown>[] = [];
  private rowCount = 0;
  private columns: readonly Column[] | undefined;
  private readonly parsing: string[] = [];
  private lastName = '';
  /** Statements before the last that are not done. */
  private ahead: number;

  constructor(
    private readonly statements: readonly Statement[],
    /** Names of those that the connection has parsed; this one adds to them. */
    private readonly parsed: Set<string>,
    readonly callback: (error: Error | null, answer: Answer | null) => void,
  ) {
    this.ahead = statements.length - 1;
  }

  submit(connection: Wire): null {
    const parts: Buffer[] = [];
    this.statements.forEach(({ text, values }, place) => {
      const name = nameOf(text);
      if (!this.parsed.has(name)) {
        this.parsing.push(name);
        parts.push(parse(name, text));
      }
      parts.push(bind(name, values));
      if (place === this.statements.length - 1) {
        this.lastName = name;
        this.columns = shapes.get(name);
        if (this.columns === undefined) parts.push(describePortal);
      }
      parts.push(execute);
    });
    parts.push(sync);
    connection.stream.write(Buffer.concat(parts));
    return null;
  }

  /** Tells of the next of its statements that the server knows now, although it may fail. */
  handleParsed(): void {
    const name = this.parsing.shift();
    if (name !== undefined) this.parsed.add(name);
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    this.columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.ahead > 0 || this.columns === undefined) return;
    const row: Record<string, unknown> = {};
    this.columns.forEach(({ name, parse }, place) => {
      const text = fields[place] ?? null;
      row[name] = text === null ? null : parse(text);
    });
    this.rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    if (this.ahead > 0) {
      this.ahead -= 1;
      return;
    }
    this.rowCount = Number(/\d+$/.exec(text)?.[0] ?? 0);
    shapes.set(this.lastName, this.columns ?? []);
  }

  handleError(error: Error): void {
    this.callback(error, null);
  }

  handleReadyForQuery(): void {
    this.callback(null, { rows: this.rows, rowCount: this.rowCount });
  }
}

function message(code: string, parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  return Buffer.concat([Buffer.from(code), int32(length), ...parts], length + 1);
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const describePortal = message('D', [Buffer.from('P\0')]);
const execute = message('E', [Buffer.from([0]), int32(0)]);
const sync = message('S', []);

function parse(name: string, text: string): Buffer {
  return message('P', [Buffer.from(`${name}\0${text}\0`), Buffer.from([0, 0])]);
}

/** Values as text, but bytes as they are; rows as text. */
function bind(name: string, values: readonly unknown[]): Buffer {
  const given = values.map((value) => prepareValue(value));
  const sizes = given.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : (value?.length ?? -1)));
  const length = sizes.reduce((sum, size) => sum + 6 + Math.max(0, size), 12 + name.length);
  const bytes = Buffer.allocUnsafe(length + 1);
  let at = bytes.write('B', 0);
  at = bytes.writeInt32BE(length, at);
  // The portal without a name.
  at = bytes.writeUInt8(0, at);
  at += bytes.write(`${name}\0`, at);
  at = bytes.writeInt16BE(given.length, at);
  for (const value of given) at = bytes.writeInt16BE(value instanceof Buffer ? 1 : 0, at);
  at = bytes.writeInt16BE(given.length, at);
  given.forEach((value, place) => {
    at = bytes.writeInt32BE(sizes[place] ?? -1, at);
    if (value === null) return;
    at += typeof value === 'string' ? bytes.write(value, at) : value.copy(bytes, at);
  });
  bytes.writeInt16BE(0, at);
  return bytes;
}
