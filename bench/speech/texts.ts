/** Texts to speak: one sentence, and a page of twelve. */
export const benchTexts = {
  short: 'The museum opens at half past nine in the morning, except on Sundays.',
  long:
    'It was a bright cold day in spring, and the clocks were striking one. The old man walked along the river with his dog. ' +
    'He had lived in this town for sixty years, and he knew every house. Children were playing in the park behind the church. ' +
    'A train crossed the bridge and disappeared into the hills. Somebody was baking bread, and the whole street smelled of it. ' +
    'He stopped at the corner to read the paper. There was nothing in it that he did not know already. The mayor would speak ' +
    'on Friday, the market would move to the square, and it would rain. He folded the paper and went on. At the harbor the boats ' +
    'were coming home. One of them was called after his daughter, and he waved to it until it was gone.',
} as const;

export type BenchText = keyof typeof benchTexts;
