/** Ways to make one vector of those of the tokens, named as in `familyOptions.pooling`. */
export const sentencePoolings = ['mean', 'cls', 'last', 'max'] as const;
export type SentencePooling = (typeof sentencePoolings)[number];
