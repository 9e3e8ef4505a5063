/** Why a sealed field or its key is refused, in the words that clients know. */
export const sealingProblems = {
  'not-hex': 'Encrypted field is not valid hex',
  'not-opened': 'Failed to decrypt field',
  'invalid-key': 'Invalid public key',
  'not-streamed': 'E2EE requires streaming',
} as const;

export type SealingProblem = keyof typeof sealingProblems;

/** A sealed field that cannot be read. The message holds nothing of the field. */
export class SealingError extends Error {
  constructor(readonly problem: SealingProblem) {
    super(sealingProblems[problem]);
  }
}
