/**
 * Keeps a text from ending the frame in which it stands in a prompt, such as `<file>`, or from beginning another of the
 * same name. Its brackets become parentheses, which take no more bytes.
 */
export function withoutFrame(text: string, name: 'file' | 'sources'): string {
  return text.replaceAll(tags[name], '($1');
}

/** A model reads tags with spaces and invisible characters in them too. */
const tags = {
  file: /[<＜﹤]([\s\p{Cf}/]*file\b)/giu,
  sources: /[<＜﹤]([\s\p{Cf}/]*sources\b)/giu,
} as const;

/** The same for what adapters found, whose frames are sentences in brackets. */
export function withoutFindingFrames(text: string): string {
  return text.replaceAll(/[[［](?=[\s\p{Cf}]*(?:End of|Found in|Transcript of)\b)/giu, '(');
}
