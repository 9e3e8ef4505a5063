import { type Sentence, splitSentences } from '#inference/tasks';

/** A line of only dashes or asterisks, or a form feed. */
const chapterBreak = /\n[^\S\n]*(?:-{3,}|\*{3,})[^\S\n]*(?=\n|$)|\f/u;

/** Splits a text into the sentences of each chapter; chapters without a sentence are dropped. */
export function chaptersOf(text: string): Sentence[][] {
  return text
    .replaceAll('\r\n', '\n')
    .split(chapterBreak)
    .map((chapter) => splitSentences(chapter.trim()))
    .filter((sentences) => sentences.length > 0);
}
