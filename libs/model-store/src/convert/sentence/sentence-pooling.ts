/** How the vectors of the tokens become one; the same names as in `familyOptions.pooling`. */
export const sentencePoolings = ['mean', 'cls', 'last', 'max'] as const;
export type SentencePooling = (typeof sentencePoolings)[number];
