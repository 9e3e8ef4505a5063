/** The comments of a TypeScript or JavaScript source, and the code without them. */
export function splitComments(text: string): { comments: string[]; code: string } {
  const comments: string[] = [];
  // Strings and templates come first, so that a URL in one of them does not begin a comment.
  const parts = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[^]*?\*\/|\/\/[^\n]*/g;
  const code = text.replaceAll(parts, (part) => {
    if (!part.startsWith('/')) return part;
    comments.push(part);
    return ' ';
  });
  return { comments, code };
}
