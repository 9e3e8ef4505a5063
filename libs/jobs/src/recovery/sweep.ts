/** A search for rows that the rest of the house has lost. */
export interface Sweep {
  readonly name: string;
  /** Repairs what it finds, up to a bound; resolves to how many rows that were. Safe to run in many processes. */
  run(): Promise<number>;
}
