/** Why a document cannot be read. The text completes "The file …" and is for callers. */
export class DocumentFault extends Error {
  override readonly name = 'DocumentFault';
}

export const corrupt = (what: string): DocumentFault => new DocumentFault(`is not a valid ${what}`);

export const encrypted = (): DocumentFault => new DocumentFault('is encrypted; remove its password first');
