/** What an examination of a store found, for operators. */
export interface StoreFinding {
  readonly store: 'postgres' | 'redis' | 'storage' | 'keys' | 'clock';
  /** `problem`: something fails or may be lost. `note`: something could not be checked, or is worth knowing. */
  readonly severity: 'problem' | 'note';
  /** One sentence, with the way out. Holds no secret. */
  readonly text: string;
}
