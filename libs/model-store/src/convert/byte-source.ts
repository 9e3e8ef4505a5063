/** A file with random access, on this disk or behind a url. */
export interface ByteSource {
  /** For error messages. */
  readonly name: string;
  readonly bytes: number;
  /** Reads exactly `length` bytes from `position` on. Throws `INVALID_MODEL` if the file ends before. */
  read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns where a position lies, for messages; absent for a file that is stored as one. */
  locate?(position: number): { name: string; position: number };
}
