/** A search for rows that every other mechanism has lost. */
export interface Sweep {
  readonly name: string;
  /** Repairs what it finds, up to a limit; resolves to the number of repaired rows. Safe to run in many processes. */
  run(): Promise<number>;
}
