/**
 * Splits symbols into pieces that fit the model: after the last mark that fits, else between words, else anywhere. Even
 * a short sentence may be too long, because numbers expand when spoken.
 */
export function cutPhonemes(phonemes: string, max: number): string[] {
  const pieces: string[] = [];
  let rest = [...phonemes];
  while (rest.length > max) {
    const head = rest.slice(0, max);
    const mark = head.findLastIndex((symbol) => /[,.!?;:—…]/u.test(symbol));
    const space = head.lastIndexOf(' ');
    const end = mark > max / 4 ? mark + 1 : space > 0 ? space + 1 : max;
    pieces.push(head.slice(0, end).join('').trim());
    rest = rest.slice(end);
  }
  pieces.push(rest.join('').trim());
  return pieces.filter((piece) => piece !== '');
}
