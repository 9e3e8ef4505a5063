/** The account whose turn a job takes. */
export interface FairTurn {
  /** Identifies the account to the queue, and reveals nothing else: a keyed hash. */
  readonly account: string;
  /** How many turns the account gets for each turn of an account of weight 1: 1 to 16; default 1. */
  readonly weight?: number;
  /** The job waited before and was lost: it comes before the waiting jobs of its account, not before those of others. */
  readonly isRecovered?: boolean;
}

/** The place at which a job waits. */
export interface FairPlace {
  readonly tag: number;
  /**
   * Others wait, and the account has had less than its share: the job may run before all tags, in addition to what fills the
   * workers. The next job of the account may not, until the virtual time has passed this tag.
   */
  readonly goesFirst: boolean;
}
