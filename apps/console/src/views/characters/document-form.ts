/** The form that adds documents to a character. */
export interface DocumentForm {
  kind: 'files' | 'text';
  files: readonly File[];
  text: string;
  /** The name of the text, or of a single file. */
  name: string;
  /** Empty: the default one. */
  model: string;
}

/** A document to send. */
export interface NewDocument {
  name: string;
  content: Blob;
}

export const emptyDocumentForm: DocumentForm = { kind: 'files', files: [], text: '', name: '', model: '' };

/** Returns the documents of a form; none while it is incomplete. Several files keep their names. */
export function documentsOf({ kind, files, text, name: typed }: DocumentForm): NewDocument[] {
  const name = typed.trim();
  if (kind === 'files') {
    const isRenamed = files.length === 1 && name !== '';
    return files.map((file) => ({ name: isRenamed ? name : file.name, content: file }));
  }
  if (name === '' || text.trim() === '') return [];
  return [{ name, content: new Blob([text], { type: 'text/plain' }) }];
}
