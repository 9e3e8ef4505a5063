/** An escaped character of JSON, or a quotation mark. */
const escapeOrQuote = /(\\.|")/s;
const pythonNumber = /-?Infinity|NaN/g;

/**
 * Parses JSON in which Python may have written `Infinity` and `NaN` as words. They become the objects that later libraries
 * write: `{ __float__: 'Infinity' }`.
 */
export function parsePythonJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const replaced = replacePythonNumbers(text);
    if (replaced === text) throw error;
    return JSON.parse(replaced);
  }
}

/** Replaces them outside of strings. */
function replacePythonNumbers(text: string): string {
  let isString = false;
  const pieces = text.split(escapeOrQuote).map((piece) => {
    if (piece === '"') isString = !isString;
    return isString ? piece : piece.replace(pythonNumber, (found) => JSON.stringify({ __float__: found }));
  });
  return pieces.join('');
}
