/** What was found out about one claim. `unknown`: nothing proves it, and nothing speaks against it. */
export interface ClaimResult {
  readonly claim: ClaimName;
  readonly result: 'proven' | 'false' | 'unknown';
  /** One sentence in plain words. */
  readonly detail: string;
}

/** In the order in which they build on each other. */
export const claimNames = [
  'hardware',
  'firmware',
  'debugging',
  'software',
  'key',
  'nonce',
  'exchange',
  'receipt',
] as const;
export type ClaimName = (typeof claimNames)[number];

export const proven = (claim: ClaimName, detail: string): ClaimResult => ({ claim, result: 'proven', detail });
export const refuted = (claim: ClaimName, detail: string): ClaimResult => ({ claim, result: 'false', detail });
export const unknown = (claim: ClaimName, detail: string): ClaimResult => ({ claim, result: 'unknown', detail });
