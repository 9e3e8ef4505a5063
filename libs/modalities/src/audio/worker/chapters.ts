import { type Sentence, splitSentences } from '#inference/tasks';

/** A line of nothing but dashes or stars, or a form feed. */
const chapterBreak = /\n[^\S\n]*(?:-{3,}|\*{3,})[^\S\n]*(?=\n|$)|\f/u;

/** The sentences of each chapter of a text; chapters without a sentence are left out. */
export function chaptersOf(text: string): Sentence[][] {
  return text
    .replaceAll('\r\n', '\n')
    .split(chapterBreak)
    .map((chapter) => splitSentences(chapter.trim()))
    .filter((sentences) => sentences.length > 0);
}
