export const documentFormats = ['pdf', 'epub', 'docx', 'pptx', 'xlsx', 'xls', 'text'] as const;
export type DocumentFormat = (typeof documentFormats)[number];

/** What a client says about a file. Both may be empty or wrong. */
export interface DocumentHints {
  filename: string;
  /** Lower case, without parameters. */
  contentType: string;
}

export interface ExtractedText {
  format: DocumentFormat;
  text: string;
  /** Whether the text was cut off at the maximum length. */
  isTruncated: boolean;
}
